// Refuses writes outside `src/`.
//
// It judges by where a path leads, which the host found out, links followed: to `src/../.env`, and to
// a link that leads there, it says the same. It has no way to allow a call, only no objection.
import { told } from './told.js';

export const guard = told({
  // How many past calls a check wants to see.
  earlier: () => 0,

  // The objection to this call, or undefined.
  check({ effects, paths }) {
    // Which files a command writes, its text does not say; a guard may refuse commands whole.
    if (effects.execute || !effects.write) return undefined;
    // A path that leads nowhere known is not inside.
    const outside = paths.find(({ path }) => !path?.startsWith('src/'));
    if (!outside) return undefined;
    const place = outside.path === undefined ? 'no known place' : `\`${outside.path}\``;
    return {
      rule: 'outside-src',
      reason: `\`${outside.argument}\` leads to ${place}, and only files below \`src/\` may be `
        + 'written: write there, or say what you would change',
    };
  },
});
