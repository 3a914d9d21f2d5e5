import { contenderNamed } from './contenders/index.ts';

/** A child process: ends when the first request reaches the model. */
const { park } = await contenderNamed(process.argv[2] ?? '');
park(() => process.exit(0));
