import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { onInterrupt } from '../../src/cli/interrupt.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function pressable() {
  const host = Object.assign(new EventEmitter(), { exit: vi.fn<(code: number) => void>() });
  const stop = vi.fn<() => void>();
  const say = vi.fn<() => void>();
  return { stop, say, exit: host.exit, press: () => host.emit('SIGINT'), interrupt: onInterrupt(stop, say, host) };
}

test('the first press stops the run and says so, the second ends the process', () => {
  const { stop, say, exit, press, interrupt } = pressable();
  expect(interrupt.pressed()).toBe(false);
  press();
  expect(stop).toHaveBeenCalledOnce();
  vi.runAllTimers();
  expect(say).toHaveBeenCalledOnce();
  expect(interrupt.pressed()).toBe(true);
  expect(exit).not.toHaveBeenCalled();
  press();
  expect(exit).toHaveBeenCalledExactlyOnceWith(130);
});

test('the two signals of one press, the terminal’s and the one that npm passes on, are one', () => {
  const { stop, say, exit, press } = pressable();
  press();
  press();
  vi.runAllTimers();
  expect(stop).toHaveBeenCalledOnce();
  expect(say).toHaveBeenCalledOnce();
  expect(exit).not.toHaveBeenCalled();
});

test('a press is told of also where the run is over at once, and only once', () => {
  const { say, press, interrupt } = pressable();
  press();
  interrupt.over();
  vi.runAllTimers();
  expect(say).toHaveBeenCalledOnce();
});

test('once the run is over the first press ends the process', () => {
  const { stop, say, exit, press, interrupt } = pressable();
  interrupt.over();
  press();
  expect(exit).toHaveBeenCalledWith(130);
  expect(stop).not.toHaveBeenCalled();
  expect(say).not.toHaveBeenCalled();
});
