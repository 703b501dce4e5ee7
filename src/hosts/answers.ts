import type { Clock } from '../base/clock.js'
import { CompatError } from '../base/errors.js'
import type { MemoryBudget } from '../base/memory-budget.js'
import type { TurnGate } from '../base/turn-gate.js'
import type { Endpoint } from '../contracts/endpoint.js'
import type { FastPaths } from '../contracts/index.js'
import type { Sizes, Timeouts } from '../contracts/limits.js'
import { asCompatError } from '../protocol/error-body.js'
import { BodyBudget } from './body-budget.js'
import { preflightHeaders } from './cors.js'
import type { HostedCall, HostedReply } from './hosted.js'
import { extraVersion, type PathMatch, PathTable, pathOf, withoutTrailingSlashes } from './match.js'
import type { CallTools } from './received-body.js'

/** What the endpoints need from every kind of host. */
export interface HostOptions {
  readonly timeouts: Timeouts
  readonly sizes: Sizes
  readonly memory: Pick<MemoryBudget, 'give' | 'take'>
  readonly clock: Clock
  readonly newId: () => string
  /** Lets the requests of one turn of the event loop continue together. */
  readonly turns: TurnGate
  readonly fastPaths: Pick<FastPaths, 'messages'>
  /** The mount path, if nothing strips it from the paths of requests. */
  readonly basePath?: string
  /** The address of the protected-resource metadata (RFC 9728), named in each `www-authenticate`. */
  readonly resourceMetadata?: string
  /** Called with the part of a path before a route if it caused a 404 and there is no base path. Must not throw. */
  readonly onUnstripped?: (mount: string) => void
  /** Should not throw; its errors are ignored. */
  readonly onFault: (where: string, error: unknown, requestId?: string) => void
  readonly onBodyConsumed: (requestId: string) => void
}

/** Node emits a request before it reads a body that arrived with the headers. In the next microtask both have been read. */
const HEAD_AND_BODY_READ = Promise.resolve()

/** Answers the requests of any host with the endpoints of one table. */
export class Answers {
  /** As paths are compared with it. Empty if there is none. */
  readonly basePath: string
  readonly tools: CallTools
  private readonly paths: PathTable
  private readonly turns: TurnGate
  private readonly ended = (): void => this.turns.leave()

  constructor(
    private readonly endpoints: readonly Endpoint[],
    private readonly options: HostOptions,
  ) {
    const { basePath = '', memory, sizes, turns } = options
    this.basePath = withoutTrailingSlashes(basePath)
    this.paths = new PathTable(endpoints)
    this.turns = turns
    this.tools = {
      ...options,
      budget: new BodyBudget(Math.min(sizes.bodyBytesInFlight, sizes.memoryBytes), memory),
    }
  }

  /** Reports a fault. Never throws. */
  readonly onFault: HostOptions['onFault'] = (where, error, requestId) => {
    try {
      this.options.onFault(where, error, requestId)
    } catch {
      // The error cannot be reported any more, and a throw from here would end the host's process.
    }
  }

  /** Returns the endpoints at a path below the mount. The path is undefined if it is outside of the mount. */
  match(path: string | undefined): PathMatch | undefined {
    return path === undefined ? undefined : this.paths.find(path)
  }

  /** Answers a call to the endpoint that {@link endpointFor} found, or says why there is none. */
  answer(
    path: string | undefined,
    match: PathMatch | undefined,
    endpoint: Endpoint | undefined,
    call: HostedCall,
    reply: HostedReply,
  ): void {
    if (match === undefined) {
      if (path !== undefined && this.basePath === '') this.reportMount(call, path)
      reply.sendError(this.notFound(call, path))
      reply.onDone?.()
    } else if (endpoint === undefined) {
      refuseMethod(call, match.endpoints, reply)
      reply.onDone?.()
    } else this.run(endpoint, match.parameter, call, reply)
  }

  private notFound(call: HostedCall, path: string | undefined): CompatError {
    if (path === undefined || !this.paths.hasExtraVersion(path)) return unknownPath(this.endpoints, path)
    return extraVersion(pathOf(call.wholeTarget), path)
  }

  // If a host has stripped a mount path, the part before a route is a mistake of the client.
  private reportMount(call: HostedCall, path: string): void {
    const mount = this.paths.mountOf(path)
    if (mount !== undefined && !call.isStripped) this.options.onUnstripped?.(mount)
  }

  private run(endpoint: Endpoint, parameter: string, call: HostedCall, reply: HostedReply): void {
    const ended = reply.onDone === undefined ? this.ended : () => this.endWith(reply)
    const failed = (error: unknown): void => {
      this.onFault('http endpoint', error, call.requestId)
      try {
        reply.fail(asCompatError(error))
      } catch (fault) {
        this.onFault('http reply', fault, call.requestId)
        reply.destroy()
      }
      ended()
    }
    const begin = (): void => {
      try {
        endpoint.answer(call, reply, parameter).then(ended, failed)
      } catch (error) {
        failed(error)
      }
    }
    this.turns.enter()
    if (call.keepBody()) (this.turns.wait() ?? HEAD_AND_BODY_READ).then(begin)
    else begin()
  }

  private endWith(reply: HostedReply): void {
    this.ended()
    reply.onDone?.()
  }
}

/** Returns the endpoint that answers a method, if any. `HEAD` is answered as `GET` is. */
export function endpointFor(match: PathMatch | undefined, method: string | undefined): Endpoint | undefined {
  const asked = method === 'HEAD' ? 'GET' : method
  return match?.endpoints.find((candidate) => candidate.method === asked)
}

function unknownPath(endpoints: readonly Endpoint[], path: string | undefined): CompatError {
  const known = endpoints
    .filter(({ isPublic, openapi }) => isPublic !== true && openapi !== undefined)
    .map(({ method, path }) => `${method} ${path}`)
  return new CompatError(
    'not_found',
    `${describeAbsence(path)} Below the mount path there are ${known.slice(0, -1).join(', ')} and ${known.at(-1)}.`,
  )
}

function refuseMethod(call: HostedCall, endpoints: readonly Endpoint[], reply: HostedReply): void {
  const { method } = call
  const allow = [
    ...endpoints.flatMap(({ method: known }) => (known === 'GET' ? ['GET', 'HEAD'] : [known])),
    'OPTIONS',
  ].join(', ')
  if (method === 'OPTIONS') {
    reply.sendNoContent({ allow, ...preflightHeaders(call, reply, allow) })
    return
  }
  // Some agents try a web socket first.
  const isSocket = call.header('upgrade')?.toLowerCase() === 'websocket'
  reply.sendError(
    new CompatError(
      'method_not_allowed',
      `This path does not accept ${isSocket ? 'web sockets' : method}; it accepts ${allow}.`,
      { headers: { allow } },
    ),
  )
}

/** APIs of OpenAI and others that no router has, by the first segment of their paths. */
const ABSENT: ReadonlyMap<string, string> = new Map([
  ['images', 'images'],
  ['videos', 'videos'],
  ['audio', 'audio'],
  ['realtime', 'realtime sessions'],
  ['moderations', 'moderations'],
  ['rerank', 'reranking'],
  ['files', 'files'],
  ['uploads', 'uploads'],
  ['vector_stores', 'vector stores'],
  ['batches', 'batches'],
  ['fine_tuning', 'fine-tuning'],
  ['assistants', 'assistants'],
  ['threads', 'threads'],
  ['conversations', 'stored conversations'],
  ['evals', 'evals'],
  ['containers', 'containers'],
])

/** Returns the first sentence of the 404 for a path below the mount. */
function describeAbsence(path: string | undefined): string {
  const [first, second] = path?.split('/').filter(Boolean) ?? []
  if (first === 'completions' && second === undefined) {
    return 'There is no POST /completions: send the prompt as a message to POST /chat/completions.'
  }
  const api = ABSENT.get(first ?? '')
  return api === undefined ? 'There is no endpoint at this path.' : `This service has no API for ${api}.`
}
