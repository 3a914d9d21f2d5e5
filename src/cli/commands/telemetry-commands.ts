import type { Command } from 'commander';
import type { BundleOptions } from './bundle-command.ts';
import type { LogCommandOptions } from './log-command.ts';
import type { TraceExportOptions } from './trace-export-command.ts';

/** The commands for logs, traces and bug reports. Each loads its code when it is called and passes its exit code to `ends`. */
export function addTelemetryCommands(program: Command, ends: (code: number) => void): void {
  addTrace(program, ends);
  program
    .command('log')
    .description('Show the lines of a step log: of a run, of a file, or of the newest run.')
    .argument('[run|file]', 'a run whose log cox run wrote, or a file; default the newest of .runs/')
    .option('-f, --follow', 'print further lines as they are written, until the run ends or Ctrl-C')
    .option('--run <id>', 'of a log that holds several runs')
    .option('--last <n>', 'only the last lines')
    .option('--json', 'write the lines as they are, one JSON a line')
    .action(async (source: string | undefined, options: LogCommandOptions) => {
      ends(await (await import('./log-command.ts')).logCommand(source, options));
    });
  program
    .command('bundle')
    .description('Write one file for a bug report: log, steps, configuration, versions. Secrets are redacted.')
    .argument('<run>', 'its id')
    .option('--journal <file>', 'the journal; default COX_JOURNAL, else .runs/runs.db')
    .option('--log <file>', 'the step log; default .runs/<run id>.jsonl')
    .option('--content', 'with content; without it names, counts, sizes and hashes')
    .option('--out <file>', 'default cox-bundle-<run>.json; - is stdout')
    .action(async (run: string, options: BundleOptions) => {
      ends(await (await import('./bundle-command.ts')).bundleCommand(run, options));
    });
}

function addTrace(program: Command, ends: (code: number) => void): void {
  const trace = program.command('trace').description('Traces of runs that are over or were interrupted.');
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
    .option('--service-per-agent', 'each agent as a separate service, as in setupOtel')
    .option('--content', 'with content, as far as it is stored; secrets are redacted')
    .option('--transfer', 'with the attributes that are proposed for delegates')
    .option('--json', 'write one JSON document')
    .addHelpText(
      'after',
      `
The spans have the ids and times of the records: a collector does not duplicate spans that it received live.

Example:
  cox trace export 0198c2 --journal runs.db --endpoint http://localhost:4318`,
    )
    .action(async (source: string, options: TraceExportOptions) => {
      ends(await (await import('./trace-export-command.ts')).traceExportCommand(source, options));
    });
}
