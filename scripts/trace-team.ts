/**
 * Sends a trace of the research team to the collector at OTEL_EXPORTER_OTLP_ENDPOINT and prints its id, for the picture in
 * docs/jaeger.md: `npm run trace:team`. It runs on its rules, each answer of which takes 400 ms, as a model's would.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Model, runAgent } from 'coxswain';
import { otel, setupOtel } from 'coxswain/otel';
import research from '../examples/research-team/team.ts';

const { shutdown } = await setupOtel({ serviceName: 'research', servicePerAgent: true });
const { agent, input, options } = research(['How is the lamp kept burning, and who sounds the fog signal?']);
const { model } = options;
const slow: Model = {
  ...{ provider: model.provider, id: model.id },
  async generate(request, context) {
    await sleep(400);
    return model.generate(request, context);
  },
};
const { status, traceId } = await runAgent(agent, input, { ...options, model: slow, instrument: otel() });
await shutdown();
if (status !== 'completed') throw new Error(`the run ended ${status}`);
console.log(traceId);
