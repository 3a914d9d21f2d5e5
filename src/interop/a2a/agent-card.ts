import type { AgentCard } from '@a2a-js/sdk';
import type { Agent } from '../../core/contract/agent.ts';

/** The card of an agent (A2A 1.0): one skill and two protocol bindings. */
export function agentCard(
  { name, description, input, output, ownInput, type }: Agent,
  { base, version, needsToken }: { readonly base: string; readonly version: string; readonly needsToken: boolean },
): AgentCard {
  const takesText = type === 'model' || !ownInput;
  const inputModes = [...(takesText ? ['text/plain'] : []), 'application/json'];
  const outputModes = output === undefined ? ['text/plain'] : ['application/json', 'text/plain'];
  const schema = ownInput ? `\nInput as a data part, by this JSON Schema: ${JSON.stringify(input.jsonSchema)}` : '';
  return {
    name,
    description,
    version,
    supportedInterfaces: [
      { url: `${base}/jsonrpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' },
      { url: `${base}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0', tenant: '' },
    ],
    provider: undefined,
    capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false, extensions: [] },
    securitySchemes: needsToken
      ? {
          token: {
            scheme: {
              $case: 'httpAuthSecurityScheme',
              value: { description: 'A token of this server', scheme: 'Bearer', bearerFormat: '' },
            },
          },
        }
      : {},
    securityRequirements: needsToken ? [{ schemes: { token: { list: [] } } }] : [],
    defaultInputModes: inputModes,
    defaultOutputModes: outputModes,
    skills: [
      {
        id: name,
        name,
        description: `${description}${schema}`,
        tags: ['agent'],
        examples: [],
        inputModes,
        outputModes,
        securityRequirements: [],
      },
    ],
    signatures: [],
  };
}
