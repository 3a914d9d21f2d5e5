import type { Command } from 'commander';
import type { TraceExportOptions } from './trace-export-command.ts';

/** `cox trace`: what it does is loaded when it is called; `ends` is told its exit code. */
export function addTraceCommand(program: Command, ends: (code: number) => void): void {
  const trace = program.command('trace').description('Traces of runs that are over, or were broken off.');
  trace
    .command('export')
    .description(
      'Make the spans of a run from its records, and send or write them as OTLP: the whole tree, also of a killed run.',
    )
    .argument('<run|log>', 'a run of the journal, or the file of a step log')
    .option('--journal <file>', 'the journal; default COX_JOURNAL, else .runs/runs.db')
    .option('--run <id>', 'of a log that holds several runs: this one; default all')
    .option(
      '--endpoint <url>',
      'the OTLP/HTTP collector; default OTEL_EXPORTER_OTLP_ENDPOINT, else http://localhost:4318',
    )
    .option('--out <file>', 'write OTLP JSON there instead; - is stdout')
    .option('--service <name>', 'default OTEL_SERVICE_NAME, else coxswain')
    .option('--service-per-agent', 'each agent as a service of its own, as setupOtel has it')
    .option('--content', 'with what was said, as far as it is kept; secrets are redacted')
    .option('--transfer', 'with the attributes that are proposed for delegates')
    .option('--json', 'write one JSON document')
    .addHelpText(
      'after',
      `
The spans have the ids and times of the records: what a collector has already, sent live with the same names, it has once.

Example:
  cox trace export 0198c2 --journal runs.db --endpoint http://localhost:4318`,
    )
    .action(async (source: string, options: TraceExportOptions) => {
      ends(await (await import('./trace-export-command.ts')).traceExportCommand(source, options));
    });
}
