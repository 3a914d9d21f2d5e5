import { short } from '../../core/schema/issue-text.ts';
import { messageOf, ToolError } from '../../core/values/errors.ts';
import { holds } from './occurrences.ts';

/** Whether a line matches. */
export type LineTest = (line: string) => boolean;

const MAX_PATTERN = 1_000;

/**
 * A literal text, or a regular expression that a model wrote: executed by an
 * engine that is linear in the line's length for every pattern, since a backtracking engine can take hours for a crafted line.
 *
 * @throws ToolError `invalid_args` for an invalid pattern.
 */
export async function lineTest(of: {
  readonly text?: string;
  readonly pattern?: string;
  readonly ignoreCase?: boolean;
}): Promise<LineTest | undefined> {
  const { text, pattern, ignoreCase = false } = of;
  if (text !== undefined && pattern !== undefined)
    throw new ToolError('invalid_args', '$.pattern: give either text or pattern, not both.');
  if (pattern !== undefined) return patternTest(pattern, ignoreCase);
  if (text === undefined) return undefined;
  if (!ignoreCase) return (line) => holds(line, text);
  const wanted = text.toLowerCase();
  return (line) => holds(line.toLowerCase(), wanted);
}

async function patternTest(pattern: string, ignoreCase: boolean): Promise<LineTest> {
  if (pattern.length > MAX_PATTERN)
    throw new ToolError(
      'invalid_args',
      `$.pattern: has ${pattern.length} characters; at most ${MAX_PATTERN} are taken.`,
    );
  const { RE2JS } = await import('re2js');
  try {
    const compiled = RE2JS.compile(pattern, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0);
    return (line) => compiled.test(line);
  } catch (thrown) {
    const why = short(messageOf(thrown), 200);
    throw new ToolError(
      'invalid_args',
      `$.pattern: no regular expression of RE2 (no look-around, no back references): ${why}`,
    );
  }
}
