import type { ModelTurn } from 'coxswain';
import { z } from 'zod';
import { Claims, type Verdict } from '../claims.ts';
import { call, parsed, say, type Transcript } from './transcript.ts';

const Found = z.object({
  stands: z.boolean(),
  line: z.int().optional(),
  to: z.int().optional(),
  why: z.string().optional(),
});

/** Looks up every claim at once, then says which of them stand. */
export function checkerTurn({ brief, answered }: Transcript): ModelTurn {
  const given = Claims.safeParse(parsed(brief));
  const claims = given.success ? given.data.claims : [];
  if (answered.length === 0 && claims.length > 0) {
    return call(claims.map(({ text, path, line }) => ({ name: 'find_quote', args: { path, quote: text, line } })));
  }
  const verdicts = claims.map(({ path, line }, at): Verdict => {
    const found = Found.safeParse(parsed(answered[at]?.result ?? ''));
    if (!found.success) return { path, line, stands: false, why: 'it could not be checked' };
    const { stands, why, to } = found.data;
    return {
      path,
      line: found.data.line ?? line,
      stands,
      ...(to !== undefined && { to }),
      ...(why !== undefined && { why }),
    };
  });
  return say({ verdicts });
}
