/** A process with an SDK of its own: makes spans as it is told to, and ends as it is told to. */
import { metrics, trace } from '@opentelemetry/api';
import { defineAgent, runAgent } from 'coxswain';
import { otel, setupOtel } from 'coxswain/otel';

const { OTLP = '', HOW = '' } = process.env;
const { shutdown } = await setupOtel({ serviceName: 'program', endpoint: OTLP, metrics: HOW === 'measured' });
const tracer = trace.getTracer('program');

switch (HOW) {
  // Ends when nothing is left to do.
  case 'burst':
    for (let count = 0; count < 10_000; count += 1) tracer.startSpan('one').end();
    break;
  // Waits to be ended by a signal.
  case 'signal':
    setInterval(() => {}, 1_000);
    tracer.startSpan('one').end();
    process.stdout.write('ready\n');
    break;
  // Somebody else decides what a signal does.
  case 'handled':
    setInterval(() => {}, 1_000);
    process.on('SIGTERM', () => setTimeout(() => process.exit(7), 500));
    tracer.startSpan('one').end();
    process.stdout.write('ready\n');
    break;
  // Ends at once when a run has parked.
  case 'parked': {
    const agent = defineAgent({
      name: 'flow',
      async run(_, ctx) {
        return ctx.wait('editor', { question: 'Print it?' }, { type: 'string' });
      },
    });
    const { status } = await runAgent(
      agent,
      { task: 'x' },
      {
        instrument: otel(),
        onIdle: 'suspend',
      },
    );
    process.stdout.write(`${status}\n`);
    process.exit(0);
    break;
  }
  case 'measured':
  case 'shutdown': {
    metrics.getMeter('program').createCounter('one').add(1);
    tracer.startSpan('one').end();
    const since = performance.now();
    const told = await shutdown().catch((thrown: Error) => thrown.message);
    const left = process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout');
    process.stdout.write(`${JSON.stringify({ ms: performance.now() - since, told, left })}\n`);
  }
}
