import { strict as assert } from 'node:assert'
import { createServer, type RequestListener } from 'node:http'
import type { CompatRouter, RouterEvent } from '../../src/index.js'
import { listenHttp, type MountedHost } from './listen-http.js'

export type EventOf<Type extends RouterEvent['type']> = Extract<RouterEvent, { type: Type }>

/**
 * Routers on real sockets, as a test observes them: by their events, by the clients that they have lost, and by the rejections
 * of the process that nobody handled.
 */
export class RouterHarness {
  readonly events: RouterEvent[] = []
  private readonly rejections: unknown[] = []
  private readonly mounted: MountedHost[] = []
  /** By request id. */
  private readonly gone = new Map<string, Promise<void>>()
  private readonly waiting = new Set<() => void>()
  private readonly onRejection = (reason: unknown): void => {
    this.rejections.push(reason)
  }

  constructor() {
    process.on('unhandledRejection', this.onRejection)
  }

  /** The `onEvent` of the routers. */
  readonly take = (event: RouterEvent): void => {
    this.events.push(event)
    this.wake()
  }

  /** Starts a bare server that knows which clients are gone, by the `x-request-id` of their requests. */
  async serve(router: CompatRouter): Promise<MountedHost> {
    return this.listen((req, res) => {
      const id = String(req.headers['x-request-id'])
      router(req, res)
      // Added after the router's own listeners, so the router has noticed when this is settled.
      this.gone.set(id, new Promise((resolve) => res.once('close', resolve)))
      this.wake()
    })
  }

  /** Starts a bare server of whatever has routers in it, such as an Express app. */
  async listen(listener: RequestListener): Promise<MountedHost> {
    // On a busy machine, the times after which Node closes sockets that are idle or slow may pass while a client uses them.
    const times = { keepAliveTimeout: 0, headersTimeout: 0, requestTimeout: 0 }
    return this.keep(await listenHttp(createServer(times, listener), ''))
  }

  /** Closes a host when this is closed. */
  keep(host: MountedHost): MountedHost {
    this.mounted.push(host)
    return host
  }

  /** Wakes all waiting tests, after a change that is not an event. */
  wake(): void {
    for (const resume of this.waiting) resume()
    this.waiting.clear()
  }

  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise<void>((resolve) => this.waiting.add(resolve))
  }

  of<Type extends RouterEvent['type']>(type: Type): EventOf<Type>[] {
    return this.events.filter((event): event is EventOf<Type> => event.type === type)
  }

  /** The first event of this type, past or future, optionally of one request. */
  async event<Type extends RouterEvent['type']>(type: Type, requestId?: string): Promise<EventOf<Type>> {
    const find = () =>
      this.events.find(
        (event): event is EventOf<Type> =>
          event.type === type &&
          (requestId === undefined || ('requestId' in event && event.requestId === requestId)),
      )
    await this.until(() => find() !== undefined)
    return find()!
  }

  /** Whether a request has reached a router of {@link serve}. */
  hasArrived(requestId: string): boolean {
    return this.gone.has(requestId)
  }

  /** Resolves when the router has noticed that the client of a request is gone. */
  async lost(requestId: string): Promise<void> {
    await this.until(() => this.gone.has(requestId))
    await this.gone.get(requestId)
  }

  /** Closes the servers, after checking that every rejection was handled. */
  async close(): Promise<void> {
    for (const host of this.mounted) await host.close()
    process.off('unhandledRejection', this.onRejection)
    assert.deepEqual(this.rejections, [], 'rejections that nobody handled')
  }
}
