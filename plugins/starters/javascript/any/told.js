// Gives a throw its words: a component that throws ends with a trap, and a trap has no message.
// So every function that the host calls goes through `told`, which writes what happened to the log.
import { write } from 'harness:plugin/log@0.1.0';

// An object of functions, each of which tells of what it throws. A fault, an object with a `kind`, is
// an answer and no accident.
export const told = (functions) => Object.fromEntries(
  Object.entries(functions).map(([name, call]) => [name, (...given) => {
    try {
      return call(...given);
    } catch (thrown) {
      const isFault = thrown?.payload?.kind ?? thrown?.kind;
      if (!isFault) write('error', `${name}: ${thrown?.message ?? thrown}\n${thrown?.stack ?? ''}`);
      throw thrown;
    }
  }]),
);
