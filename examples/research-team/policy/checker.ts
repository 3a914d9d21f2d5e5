import type { ModelTurn } from 'coxswain';
import { Claims, Verdict } from '../claims.ts';
import { call, parsed, say, type Transcript } from './transcript.ts';

const Found = Verdict.omit({ path: true }).partial({ line: true });

/** Looks up every claim at once, then says which of them are verified. */
export function checkerTurn({ brief, answered }: Transcript): ModelTurn {
  const given = Claims.safeParse(parsed(brief));
  const claims = given.success ? given.data.claims : [];
  if (answered.length === 0 && claims.length > 0) {
    return call(claims.map(({ text, path, line }) => ({ name: 'find_quote', args: { path, quote: text, line } })));
  }
  const verdicts = claims.map(({ path, line }, at): Verdict => {
    const found = Found.safeParse(parsed(answered[at]?.result ?? ''));
    if (!found.success) return { path, line, verified: false, why: 'it could not be checked' };
    return { ...found.data, path, line: found.data.line ?? line };
  });
  return say({ verdicts });
}
