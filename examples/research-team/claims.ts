import { z } from 'zod';

/** What a researcher hands on: a sentence as it stands in a file, and the line it begins in. */
export const Claim = z.object({
  text: z.string().describe('one sentence, verbatim'),
  path: z.string().describe('path as search_documents gave it'),
  line: z.int().min(1).describe('line it begins in'),
});
export type Claim = z.infer<typeof Claim>;
export const Claims = z.object({ claims: z.array(Claim) });

/** What the checker found of one claim: its line, and the lines of the paragraph around it. */
export const Verdict = z.object({
  path: z.string(),
  line: z.int(),
  from: z.int().optional(),
  to: z.int().optional(),
  stands: z.boolean(),
  why: z.string().optional(),
});
export type Verdict = z.infer<typeof Verdict>;
export const Verdicts = z.object({ verdicts: z.array(Verdict) });
