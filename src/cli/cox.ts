#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { addDurableCommands } from './commands/durable-commands.ts';
import { addMcpCommand } from './commands/mcp-command.ts';
import { addMemoryCommand } from './commands/memory-command.ts';
import type { ServeCommandOptions } from './commands/serve-command.ts';
import { addTelemetryCommands } from './commands/telemetry-commands.ts';
import type { RunCommandOptions } from './drive-run.ts';
import { errorText } from './error-text.ts';
import { EXIT } from './exit-code.ts';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

const program = new Command('cox')
  .description('Runs trees of LLM agents.')
  .version(version)
  .exitOverride()
  .addHelpText(
    'after',
    `
Example:
  cox run team.ts "Compare A and B" --journal runs.db
  cox runs --journal runs.db

Exit codes: 0 done, 1 failed, 2 usage or configuration, 3 parked, 4 a limit was met, 130 Ctrl-C.`,
  );

let code: number = EXIT.done;
let unread: NodeJS.ErrnoException | undefined;
process.stdout.on('error', (error) => {
  unread ??= error;
});
// An error of stderr cannot be reported anywhere.
process.stderr.on('error', () => {});

program
  .command('run')
  .description('Run the agent that a module exports: its default export or `agent`, or a function that gives one.')
  .argument('<file>', 'the module, .js or .ts')
  .argument('[input...]', 'what the agent is to do; for a function, its arguments')
  .option('--journal <file>', 'keep the run there, so that it survives its process; default COX_JOURNAL, else none')
  .option('--json', 'write events and, last, the result to stdout, one JSON a line')
  .option('--log <file>', 'write the step log there instead of .runs/<run id>.jsonl')
  .option('--no-log', 'write no step log')
  .addHelpText(
    'after',
    `
Progress goes to stderr, the result to stdout. Agents without a model get the environment's: LLM_MODEL and LLM_BASE_URL
(and LLM_API_KEY), else ANTHROPIC_API_KEY, else OPENAI_API_KEY. With OTEL_EXPORTER_OTLP_ENDPOINT the run's spans go there.

Example:
  cox run team.ts "Compare A and B"`,
  )
  .action(async (file: string, input: string[], options: RunCommandOptions) => {
    const { runCommand } = await import('./commands/run-command.ts');
    code = await runCommand(file, input, options);
  });
program
  .command('serve')
  .description('Serve the agent that a module exports, until Ctrl-C. The address goes to stdout.')
  .argument('<file>', 'the module, .js or .ts')
  .argument('[words...]', 'for a module that exports a function, its arguments')
  .option('--http', 'over HTTP: runs, events as SSE, answers, results')
  .option('--a2a', 'over A2A, to other agents')
  .option('--mcp', 'as an MCP server on stdin and stdout; over HTTP with --port, --host or --token-env')
  .option('--host <address>', 'default 127.0.0.1; any other needs a token')
  .option('--port <n>', 'default a free one')
  .option('--hosts <names>', 'public host names beside its address: api.example.org,api')
  .option('--token-env <name>', 'the environment variable that holds the token which each request must carry')
  .option('--journal <file>', 'keep the runs there, so that they survive the process; default COX_JOURNAL')
  .option('--url <address>', 'with --a2a: the public address for its card')
  .action(async (file: string, words: string[], options: ServeCommandOptions) => {
    const { serveCommand } = await import('./commands/serve-command.ts');
    code = await serveCommand(file, words, options);
  });
addDurableCommands(program, (exitCode) => {
  code = exitCode;
});

addTelemetryCommands(program, (exitCode) => {
  code = exitCode;
});
addMcpCommand(program, (exitCode) => {
  code = exitCode;
});
addMemoryCommand(program, (exitCode) => {
  code = exitCode;
});

try {
  await program.parseAsync();
} catch (thrown) {
  // Commander has printed the error already.
  if (thrown instanceof CommanderError) code = thrown.exitCode === 0 ? EXIT.done : EXIT.usage;
  else {
    const failure = errorText(thrown, Boolean(process.env.COX_DEBUG));
    process.stderr.write(`${failure.text}\n`);
    code = failure.code;
  }
}
// Handles that the module left open (a server, a pool) do not keep the process alive; all output is written first.
for (const stream of [process.stdout, process.stderr]) {
  await new Promise<void>((resolve) => stream.write('', () => resolve()));
}
if (unread !== undefined) {
  // A reader that closed stdout (`cox run … | head`) needs no message.
  if (unread.code !== 'EPIPE') process.stderr.write(`stdout: the result could not be written: ${unread.message}\n`);
  if (code === EXIT.done) code = EXIT.failed;
}
process.exit(code);
