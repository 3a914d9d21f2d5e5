import { afterEach, beforeEach, vi } from 'vitest';

const KEYS = ['LLM_MODEL', 'LLM_BASE_URL', 'LLM_API_KEY', 'ANTHROPIC_API_KEY', 'OPENAI_API_KEY'];

/** The lines that the test under way has printed so far, as a program prints them that has no key for a model. */
export function printedLines(): readonly string[] {
  const lines: string[] = [];
  beforeEach(() => {
    for (const name of KEYS) vi.stubEnv(name, undefined);
    vi.spyOn(console, 'log').mockImplementation((...words: unknown[]) => {
      lines.push(...words.join(' ').split('\n'));
    });
  });
  afterEach(() => {
    lines.length = 0;
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
  });
  return lines;
}
