import { z } from 'zod';

/** What a researcher hands on: words as they stand in a file, and the lines of the paragraph that they begin. */
export const Claim = z.object({
  text: z.string().describe('verbatim, from the beginning of the paragraph'),
  path: z.string().describe('path as search_documents gave it'),
  line: z.int().min(1).describe('first line of the paragraph'),
  to: z.int().min(1).describe('last line of the paragraph'),
});
export type Claim = z.infer<typeof Claim>;
export const Claims = z.object({ claims: z.array(Claim) });

/** What the checker found of one claim: the line it begins in now. */
export const Verdict = z.object({ path: z.string(), line: z.int(), stands: z.boolean(), why: z.string().optional() });
export type Verdict = z.infer<typeof Verdict>;
export const Verdicts = z.object({ verdicts: z.array(Verdict) });
