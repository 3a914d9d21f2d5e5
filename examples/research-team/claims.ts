import { z } from 'zod';

/** The result of a researcher: words as they are in a file, and the lines of the paragraph that begins with them. */
export const Claim = z.object({
  text: z.string().describe('verbatim, from the beginning of the paragraph'),
  path: z.string().describe('the path that search_documents returned'),
  line: z.int().min(1).describe('first line of the paragraph'),
  to: z.int().min(1).describe('last line of the paragraph'),
});
export type Claim = z.infer<typeof Claim>;
export const Claims = z.object({ claims: z.array(Claim) });

/** The checker's verdict about one claim, with the line in which it begins now. */
export const Verdict = z.object({ path: z.string(), line: z.int(), verified: z.boolean(), why: z.string().optional() });
export type Verdict = z.infer<typeof Verdict>;
export const Verdicts = z.object({ verdicts: z.array(Verdict) });
