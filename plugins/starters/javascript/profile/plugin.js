// The profile `example`: two differences of a provider from OpenAI's wire.
//
// It is data: the host asks once, when it loads, and applies the quirks by itself. What stands below
// `describe` is for a provider with a wire of its own, and is never called for this one.
import { told } from './told.js';

// This provider limits output by another field, and gets confused by several calls in one reply.
const QUIRKS = { output_limit_field: 'max_completion_tokens', parallel_tool_calls: false };

const noWire = () => {
  throw { kind: 'unsupported', message: 'this profile has no wire of its own' };
};

// Reads one reply.
class Decoder {
  push() {
    return [];
  }

  finish() {
    return [];
  }
}

export const providerProfile = {
  ...told({
    describe: () => [{
      name: 'example',
      matches: ['*example.org*'],
      quirks: JSON.stringify(QUIRKS),
      ownWire: false,
    }],
    frameRequest: noWire,
    encodeMessage: noWire,
    classify: () => undefined,
    rescue: () => undefined,
  }),
  Decoder,
};
