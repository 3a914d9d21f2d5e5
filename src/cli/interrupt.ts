import { EXIT } from './exit-code.ts';

export interface Interrupt {
  /** Whether Ctrl-C was pressed. */
  pressed(): boolean;
  /** The run is over: announces a press that was not yet announced; from now on the next one ends the process. */
  over(): void;
}

/** The part of the process that is used here. */
export interface Host {
  on(signal: 'SIGINT', listener: () => void): unknown;
  exit(code: number): void;
}

// A terminal sends Ctrl-C to npm and to us, and npm passes its own on: within this time two signals are one press.
const ONE_PRESS_MS = 50;

/** The first Ctrl-C calls `stop`, and `notify` a moment later; the next one ends the process at once. */
export function onInterrupt(stop: () => void, notify: () => void, host: Host = process): Interrupt {
  let pressed = false;
  let armed = false;
  const arm = () => {
    if (pressed && !armed) notify();
    armed = true;
  };
  host.on('SIGINT', () => {
    if (armed) return host.exit(EXIT.interrupted);
    if (pressed) return;
    pressed = true;
    stop();
    setTimeout(arm, ONE_PRESS_MS);
  });
  return { pressed: () => pressed, over: arm };
}
