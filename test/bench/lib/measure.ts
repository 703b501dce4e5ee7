import { setTimeout as delay } from 'node:timers/promises'
import { chatBody, eventsOf } from './chat-body.js'
import type { LoadJob, LoadResult } from './messages.js'
import { tokenOf } from './names.js'
import { residentBytesOf } from './process-usage.js'
import type { Program } from './program.js'
import { NO_METRICS, type Sample, type Scenario } from './scenarios.js'
import { median } from './statistics.js'
import { untilSteady } from './steady.js'
import type { Target } from './systems.js'

const MEBIBYTE = 1_024 * 1_024
const WARM_MS = 300
const SETTLE_MS = 1_500
const SAMPLE_MS = 200
const WARM_STREAMS = { events: 20, paceMs: 20 }
const WARM_CONNECTIONS = 200
const JIT_CONNECTIONS = 50

/** The job of a scenario for one system. */
export function jobFor(scenario: Scenario, target: Target, measureMs: number): LoadJob {
  const { answer, promptBytes = 0, connections, rampMs = 0, reader = 'eager' } = scenario
  const isStream = (answer.events ?? 0) > 0
  return {
    port: target.port,
    path: target.path,
    headers: target.headers,
    requests: [{ token: tokenOf(0), body: chatBody(target.model, answer, promptBytes) }],
    connections,
    rampMs,
    warmMs: WARM_MS,
    measureMs,
    reader,
    expect: { status: 200, ...(isStream && { events: eventsOf(answer) }) },
    finish: true,
    processId: target.program.processId,
  }
}

/**
 * Runs a system until its code is compiled. With few calls at a time, or slow ones, that would take minutes.
 */
export async function warmUp(
  scenario: Scenario,
  target: Target,
  load: Program,
  forMs: number,
): Promise<void> {
  const { paceMs = 0, ...answer } = scenario.answer
  const quick: Scenario = {
    ...scenario,
    answer: { ...answer, ...(paceMs > 0 && { segments: true }) },
    connections: Math.max(scenario.connections, JIT_CONNECTIONS),
    rampMs: 0,
  }
  await untilSteady(async () => {
    const { cpuMicroseconds } = await measureLoad(quick, target, load, forMs)
    return cpuMicroseconds
  })
}

/** One system under load for a while. */
export async function measureLoad(
  scenario: Scenario,
  target: Target,
  load: Program,
  measureMs: number,
): Promise<Sample> {
  const result = await load.ask<LoadResult>(jobFor(scenario, target, measureMs))
  const isStream = (scenario.answer.events ?? 0) > 0
  const done = isStream ? result.events : result.replies
  const times = isStream ? result.firstEventMs : result.replyMs
  return {
    ...NO_METRICS,
    rate: done / result.seconds,
    cpuMicroseconds: (result.cpuSeconds / done) * 1e6,
    p50Ms: times.p50,
    p99Ms: times.p99,
    busy: result.cpuSeconds / result.seconds,
    errors: result.errors,
    ...(result.firstError !== undefined && { firstError: result.firstError }),
  }
}

/** A new system, before it opens all streams of a scenario and while they are open. */
export async function measureMemory(
  scenario: Scenario,
  target: Target,
  load: Program,
  measureMs: number,
): Promise<Sample> {
  const { processId } = target.program
  const few = { ...scenario, answer: WARM_STREAMS, connections: WARM_CONNECTIONS, rampMs: 0 }
  await load.ask(jobFor({ ...few, reader: 'eager' }, target, 0))
  await delay(SETTLE_MS)
  const before = residentBytesOf(processId)
  const held: number[] = []
  const job: LoadJob = {
    ...jobFor(scenario, target, measureMs),
    expect: { status: 200 },
    finish: false,
  }
  const asked = load.ask<LoadResult>(job)
  let isOver = false
  const over = asked.finally(() => {
    isOver = true
  })
  over.catch(() => undefined)
  const openAt = performance.now() + job.rampMs + WARM_MS
  while (!isOver) {
    await delay(SAMPLE_MS)
    if (performance.now() > openAt && !isOver) held.push(residentBytesOf(processId))
  }
  const { errors, firstError } = await over
  return {
    ...NO_METRICS,
    beforeMebibytes: before / MEBIBYTE,
    openMebibytes: median(held) / MEBIBYTE,
    kibibytesEach: (Math.max(...held) - before) / scenario.connections / 1_024,
    errors,
    ...(firstError !== undefined && { firstError }),
  }
}
