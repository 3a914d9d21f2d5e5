export { type CodeAgentOptions, defineAgent, type ModelAgentOptions } from './define-agent.ts';
export { defineSupervisor, type SupervisorOptions } from './define-supervisor.ts';
export { createDelegateTool, type DelegateOptions, delegate } from './delegate.ts';
