import type { ModelRequest } from '../../core/values/model.ts';

/** The form of the answer in words, for endpoints that cannot enforce a schema. */
export function outputInstruction(output: NonNullable<ModelRequest['output']>): string {
  return [
    'Your final answer must be one JSON value that fits this JSON Schema, and nothing else: no prose, no code fence.',
    JSON.stringify(output.schema),
  ].join('\n');
}

/** Instructions and what is added to them, as one text. */
export function joinTexts(...texts: readonly (string | undefined)[]): string {
  return texts.filter((text) => text !== undefined && text.trim() !== '').join('\n\n');
}
