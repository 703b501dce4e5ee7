import { ProviderError } from '../../src/base/errors.js'
import type { ProviderCall, ProviderEvent } from '../../src/contracts/providers.js'
import { never } from './ledger-link.js'
import type { RoutePlan } from './scenario.js'
import type { SimProcess } from './sim-process.js'
import { asEvent, type Said, type Script, type ScriptEnd, writeScript } from './upstream-script.js'
import { turns } from './virtual-time.js'

export type Take = (events: readonly ProviderEvent[]) => void | Promise<void>

/** One read that the router accepted. */
export interface Delivery {
  readonly at: number
  readonly said: readonly Said[]
  readonly bytes: number
  /** When the router asked for more. */
  readAgainAt: number | undefined
}

/** One call to a route, as the provider saw it. */
export interface Dial {
  readonly process: SimProcess
  readonly requestId: string
  readonly route: RoutePlan
  readonly byok: boolean
  readonly stream: boolean
  readonly request: ProviderCall['request']
  readonly at: number
  readonly deliveries: Delivery[]
  /** How it ended on the provider's side. */
  end:
    | { readonly at: number; readonly how: Exclude<ScriptEnd['how'], 'hang'>; readonly reason?: string }
    | undefined
  /** When the router aborted it. */
  abortedAt: number | undefined
  /** Whether that happened before its own end. */
  abortedFirst: boolean
}

class HungUp extends Error {}

/** Plays one call of a provider. */
export function dial(process: SimProcess, route: RoutePlan, call: ProviderCall, take: Take) {
  const { world } = process
  if (!process.alive) return never<{ terminated: boolean }>()
  const record: Dial = {
    process,
    requestId: call.requestId,
    route,
    byok: call.auth.kind === 'byok',
    stream: call.stream,
    request: call.request,
    at: world.time.now,
    deliveries: [],
    end: undefined,
    abortedAt: undefined,
    abortedFirst: false,
  }
  world.dials.push(record)
  const { n } = call.request
  const script = writeScript(world.random, {
    stream: call.stream,
    n: typeof n === 'number' ? n : 1,
    faults: world.scenario.faults.upstream,
  })
  process.step(call.requestId, `dialled ${route.id}`)
  const aborted = new Promise<void>((resolve) => {
    const hungUpOn = (): void => {
      record.abortedAt = world.time.now
      record.abortedFirst = record.end === undefined
      process.step(call.requestId, `hung up on ${route.id}`)
      resolve()
    }
    if (call.signal.aborted) hungUpOn()
    else call.signal.addEventListener('abort', hungUpOn, { once: true })
  })
  if (script.end.how === 'throw-at-once') {
    record.end = { at: world.time.now, how: 'throw-at-once' }
    throw new Error('This adapter is broken')
  }
  return process.hears(play(process, record, script, call.signal, aborted, take))
}

async function play(
  process: SimProcess,
  record: Dial,
  script: Script,
  signal: AbortSignal,
  aborted: Promise<void>,
  take: Take,
): Promise<{ terminated: boolean }> {
  const { world } = process
  const wait = async (ms: number): Promise<void> => {
    if (ms > 0) await Promise.race([world.sleep(ms), aborted])
    else await turns(world.random.int(0, 2))
    if (signal.aborted) throw new HungUp()
    if (!process.alive) await never()
  }
  try {
    for (const beat of script.beats) {
      await wait(beat.afterMs)
      if (signal.aborted) throw new HungUp()
      const events = beat.said.map((said) => asEvent(said, world.random.chance(0.3)))
      const delivery: Delivery = {
        at: world.time.now,
        said: beat.said,
        bytes: events.reduce((sum, event) => sum + bytesOf(event), 0),
        readAgainAt: world.time.now,
      }
      record.deliveries.push(delivery)
      process.step(record.requestId, `${record.route.id} says ${JSON.stringify(beat.said)}`)
      const waiting = take(events)
      if (waiting !== undefined) {
        delivery.readAgainAt = undefined
        await Promise.race([waiting, aborted])
        delivery.readAgainAt = world.time.now
      }
    }
    await wait(script.endAfterMs)
    return await finish(process, record, script.end)
  } catch (error) {
    if (!(error instanceof HungUp)) throw error
    return hungUp(script)
  }
}

async function finish(process: SimProcess, record: Dial, end: ScriptEnd): Promise<{ terminated: boolean }> {
  const at = process.world.time.now
  process.step(record.requestId, `${record.route.id} ends: ${JSON.stringify(end)}`)
  if (end.how === 'hang') return never()
  if (record.abortedAt !== undefined) throw new HungUp()
  record.end = { at, how: end.how, ...(end.how === 'fail' && { reason: end.reason }) }
  switch (end.how) {
    case 'terminated':
    case 'closed':
      return { terminated: end.how === 'terminated' }
    case 'fail':
      throw new ProviderError(end.reason, 'The scripted provider failed.', {
        ...(end.status !== undefined && { status: end.status }),
        providerMessage: 'no',
      })
    default:
      throw new Error('This adapter is broken')
  }
}

async function hungUp({ onAbort, turns: count }: Script): Promise<{ terminated: boolean }> {
  await turns(count)
  if (onAbort === 'ignore') return never()
  if (onAbort === 'resolve') return { terminated: true }
  throw new ProviderError('cut-short', 'The router aborted the scripted provider.')
}

function bytesOf(event: ProviderEvent): number {
  return event.type === 'data' ? event.bytes.length : JSON.stringify(event).length
}
