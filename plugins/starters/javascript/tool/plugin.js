// The tool `todos`: counts the lines with a TODO, file by file.
//
// It needs the grant `workspace-read` and changes nothing; the host searches, beneath the workspace's
// root, and leaves out what ignore files exclude.
import { grep } from 'harness:plugin/workspace-read@0.1.0';
import { told } from './told.js';

// Files named in one outcome: a model reads every line.
const MOST_FILES = 100;

const SCHEMA = {
  type: 'object',
  properties: {
    path: {
      type: 'string',
      description: 'The directory to look in; the whole workspace when left out.',
    },
  },
  additionalProperties: false,
};

export const tool = told({
  // What it offers.
  specs: () => [{
    name: 'todos',
    description: 'Counts the lines that hold the word TODO, file by file.',
    inputSchema: JSON.stringify(SCHEMA),
    effects: { read: true },
    timeoutMs: 30_000,
    pathArguments: ['path'],
  }],

  // One call. A fault of the host's is thrown by itself and reaches the model.
  run({ input }) {
    const { path = '.' } = JSON.parse(input);
    const page = grep({
      pattern: '\\bTODO\\b',
      literal: false,
      ignoreCase: false,
      multiline: false,
      root: path,
      mode: 'count',
      linesBefore: 0,
      linesAfter: 0,
      includeIgnored: false,
      offset: 0,
      limit: MOST_FILES,
    });
    // 64-bit numbers arrive as BigInt, which prints as it should and is no number to JSON.
    const files = page.totalFiles === 1n ? 'file' : 'files';
    const summary = page.totalMatches === 0n
      ? 'no TODO'
      : `${page.totalMatches} in ${page.totalFiles} ${files}`;
    const lines = page.files.map((file) => `${file.path}: ${file.matches}\n`);
    return { parts: [{ tag: 'text', val: lines.join('') + summary }], summary };
  },
});
