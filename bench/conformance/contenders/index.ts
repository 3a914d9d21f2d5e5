import type { Contender } from '../team.ts';

/** Loaded one by one: each needs its own packages, and most are installed in a separate folder. */
const LOAD: Record<string, () => Promise<Contender>> = {
  coxswain: async () => (await import('./coxswain.ts')).coxswain,
  'AI SDK': async () => (await import('./ai-sdk.ts')).aiSdk,
  'OpenAI Agents': async () => (await import('./openai-agents.ts')).openaiAgents,
  LangGraph: async () => (await import('./langgraph.ts')).langgraph,
  Mastra: async () => (await import('./mastra.ts')).mastra,
  Strands: async () => (await import('./strands.ts')).strands,
};

export const NAMES: readonly string[] = Object.keys(LOAD);

export async function contenderNamed(name: string): Promise<Contender> {
  const load = LOAD[name];
  if (load === undefined) throw new Error(`no contender is named ${name}`);
  return load();
}
