import { short } from '../../core/schema/issue-text.ts';
import { messageOf, ToolError } from '../../core/values/errors.ts';
import { holds } from './occurrences.ts';

/** Whether a line matches. */
export interface LineTest {
  matches(line: string): boolean;
  /** Characters of a line; a longer one is not looked at. */
  readonly maxLine: number;
}

const MAX_PATTERN = 1_000;
/** The time of a pattern is the product of its size and the line's, and nothing else runs meanwhile. */
const MAX_LINE_OF_PATTERN = 30_000;

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
  if (!ignoreCase) return { matches: (line) => holds(line, text), maxLine: Infinity };
  const wanted = text.toLowerCase();
  return { matches: (line) => holds(line.toLowerCase(), wanted), maxLine: Infinity };
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
    return { matches: (line) => compiled.test(line), maxLine: MAX_LINE_OF_PATTERN };
  } catch (thrown) {
    const why = short(messageOf(thrown), 200);
    throw new ToolError(
      'invalid_args',
      `$.pattern: no regular expression of RE2 (no look-around, no back references): ${why}`,
    );
  }
}
