import type { ProviderAdapter } from '../../src/adapters.js'
import {
  memoryCatalogue,
  memoryCredentials,
  memoryLedger,
  memoryProviders,
  type RouterOptions,
} from '../../src/index.js'
import { decimal, nanos } from '../helpers/decimals.js'
import { plainInput, readRequest } from './carried.js'
import { type Captured, type Heard, LIBRARIES } from './clients.js'
import { type Due, differences, dueOf } from './expected.js'
import { exceptionsOfMedia, exceptionsOfSettings } from './limits.js'
import { writeReply } from './reply.js'
import {
  APIS,
  type Api,
  type Exception,
  FORMS,
  type Form,
  HELLO,
  type Json,
  type Piece,
  type Said,
  type Shape,
  TARGETS,
  type Target,
  type Thought,
  type Wire,
} from './shape.js'
import { modelOf, refusalOf, sign } from './strict/index.js'
import { KINDS } from './targets.js'
import { type Answered, inProcess, overSockets, type Way } from './ways.js'
import { exactJson } from './write/exact-json.js'
import { writeRequest } from './write/index.js'

const PRICES = { input: '2', output: '8', request: '0.0001' }
/** 11 x 2 and 7 x 8 millionths, and the price of the request. */
const COST = '0.000178'
const CREDIT = '10'
const CONTEXT = { requestId: 'assertion', signal: new AbortController().signal }
const AT_ONCE = 24

/** One conversation from a client of one API to one provider, in one form of reply. */
export interface Cell {
  readonly shape: Shape
  readonly api: Api
  readonly to: Target
  readonly form: Form
}

export interface Verdict {
  readonly cell: Cell
  /** What is wrong, in sentences. Empty if all is well. */
  readonly faults: readonly string[]
  /** Rules whose refusals the router answered by another request, which cost the client time. */
  readonly asked: readonly string[]
}

/** A request that reached the stand-in, and what it said. */
interface Asked {
  readonly body: Json
  readonly raw: string
  readonly refusal: { readonly rule: string; readonly text: string } | undefined
}

export const keyOf = ({ api, form, shape, to }: Cell): string => `${shape.name}.${api}.${to}.${form}`

/** All cells of a conversation, as far as its clients can say it and its providers can be odd in its way. */
export function cellsOf(shape: Shape): Cell[] {
  const apis = APIS.filter((api) => writeRequest(api, shape, 'm', false) !== undefined)
  const all = apis.flatMap((api) =>
    TARGETS.flatMap((to) => FORMS.map((form): Cell => ({ shape, api, to, form }))),
  )
  return all.filter((cell) => {
    const { api, to } = cell
    const place = shape.name.length + TARGETS.indexOf(to)
    // Vendors have the API of another target under narrower limits: a client of one API is enough.
    if (isVendor(to) && api !== apis[place % apis.length]) return false
    // A request is the same for both forms of its reply: models of the AI SDK and vendors take turns with them.
    const isPlain = shape.oddly === undefined && (isVendor(to) || (shape.says === undefined && !isMain(to)))
    if (isPlain && cell.form !== FORMS[place % FORMS.length]) return false
    if (!isSent(cell)) return false
    if (shape.oddly === undefined) return true
    const { wire } = KINDS[to]
    const odd = wire === 'gemini' ? undefined : shape.oddly[wire]
    return odd !== undefined && (cell.form === 'stream' ? odd.stream : odd.body) !== undefined
  })
}

/** Whether a cell is played: no package in between reads the conversation in a way of its own. */
export const isSent = (cell: Cell): boolean => !exceptionsOf(cell).some(({ skipped }) => skipped)

const isMain = (to: Target) => to === 'chat' || to === 'responses' || to === 'messages'
const isVendor = (to: Target) => !isMain(to) && !to.startsWith('sdk-')

const listOf = <Value>(value: Value | readonly Value[] | undefined): readonly Value[] | undefined =>
  value === undefined ? undefined : Array.isArray(value) ? value : [value as Value]

function exceptionsOf({ api, shape, to }: Cell): readonly Exception[] {
  const own = [...(shape.except ?? []), ...exceptionsOfSettings(shape), ...exceptionsOfMedia(shape)]
  return own.filter(
    (one) => listOf(one.api)?.includes(api) !== false && listOf(one.to)?.includes(to) !== false,
  )
}

/** A router between clients and strict stand-ins of all kinds of providers, for all cells of a table. */
export class Table {
  private readonly asked = new Map<string, Asked[]>()
  private readonly cells = new Map<string, Cell>()
  private readonly ledger: ReturnType<typeof memoryLedger>
  private readonly adapters: readonly (ProviderAdapter & { close?(): unknown })[]

  private constructor(
    private readonly way: Way,
    cells: readonly Cell[],
    private readonly allLibraries: boolean,
  ) {
    const keys = [...new Set(cells.map(keyOf))]
    this.ledger = memoryLedger(Object.fromEntries(keys.map((key) => [key, CREDIT])))
    this.adapters = TARGETS.map((to) => KINDS[to].adapter(`${way.upstream}/${to}/v1`, way.transport))
    for (const cell of cells) this.cells.set(keyOf(cell), cell)
  }

  /** Over sockets, to the libraries of all clients. */
  static async start(cells: readonly Cell[]): Promise<Table> {
    const way: Way = await overSockets((path, headers, raw) => table.answer(path, headers, raw))
    const table = new Table(way, cells, true)
    await way.open(table.options(cells))
    return table
  }

  /** Within this process, to the library of each API's vendor. Cells may have the same key, if one is played at a time. */
  static async startQuickly(cells: readonly Cell[]): Promise<Table> {
    const way: Way = await inProcess((path, headers, raw) => table.answer(path, headers, raw))
    const table = new Table(way, cells, false)
    await way.open(table.options(cells))
    return table
  }

  private options(cells: readonly Cell[]): RouterOptions {
    const keys = [...new Set(cells.map(keyOf))]
    const models = [...new Map(cells.flatMap(modelsOf).map((model) => [model.id, model])).values()]
    return {
      credentials: memoryCredentials(
        Object.fromEntries(keys.map((key) => [`sk-${key}`, { kind: 'api-key', account: key }])),
      ),
      catalogue: memoryCatalogue(models.map(({ id }) => ({ id, prices: PRICES, contextLength: 200_000 }))),
      ledger: this.ledger,
      providers: memoryProviders(
        TARGETS.map((to, index) => ({
          id: to,
          models: Object.fromEntries(
            models.flatMap(({ at, id }) => (at === to ? [[id, `${KINDS[to].model}.${id}`]] : [])),
          ),
          adapter: this.adapters[index]!,
        })),
      ),
      basePath: '/v1',
      onEvent: false,
    }
  }

  /** Plays cells, many at once. All by default. */
  async play(cells: Iterable<Cell> = this.cells.values()): Promise<Verdict[]> {
    const left = [...cells]
    const verdicts: Verdict[] = []
    const playOn = async (): Promise<void> => {
      for (let cell = left.pop(); cell !== undefined; cell = left.pop()) verdicts.push(await this.judge(cell))
    }
    await Promise.all(Array.from({ length: AT_ONCE }, playOn))
    return verdicts
  }

  async close(): Promise<void> {
    await this.way.close()
    for (const adapter of this.adapters) await adapter.close?.()
  }

  /** Plays one cell, which may have the key of an earlier one. */
  async judge(cell: Cell): Promise<Verdict> {
    const { shape } = cell
    this.cells.set(keyOf(cell), cell)
    for (const key of [keyOf(cell), nextKeyOf(cell)]) this.asked.delete(key)
    const before = await this.ledger.balance(keyOf(cell), CONTEXT)
    const faults: string[] = []
    const requests = [shape]
    let charged = 0
    for (let turn = 0; turn < requests.length && faults.length === 0; turn++) {
      const asked = requests[turn]!
      const key = turn === 0 ? keyOf(cell) : nextKeyOf(cell)
      const { heard, wasCharged } = await this.turn(cell, asked, key, turn, faults)
      if (wasCharged) charged++
      if (heard === undefined || turn > 0 || shape.next === undefined) continue
      requests.push(continued(cell, heard))
    }
    await this.checkCharges(cell, before?.posted ?? 0n, charged, faults)
    return {
      cell,
      faults,
      asked: this.askedBy(cell).flatMap(({ refusal }) => (refusal === undefined ? [] : [refusal.rule])),
    }
  }

  private async turn(
    cell: Cell,
    shape: Shape,
    key: string,
    turn: number,
    faults: string[],
  ): Promise<{ heard?: Heard; wasCharged: boolean }> {
    const { api } = cell
    const to = turn === 0 || cell.shape.next?.elsewhere !== true ? cell.to : KINDS[cell.to].elsewhere
    const exceptions = exceptionsOf({ ...cell, shape: { ...shape, except: cell.shape.except ?? [] }, to })
    const when = turn === 0 ? '' : `in the next turn${to === cell.to ? '' : ` at ${to}`}, `
    const reply = await this.send(cell, writeRequest(api, shape, key, cell.form === 'stream')!)
    const asked = this.asked.get(key) ?? []
    const refused = exceptions.filter((one) => one.refused !== undefined)
    const problem = errorIn(reply)
    if (refused.length > 0) {
      const named = refused.find((one) => one.refused === problem?.param)
      const [{ refused: field, why }] = refused as [Exception]
      if (problem === undefined) faults.push(`${when}it is not refused, although ${why}`)
      else if (reply.status !== 400 || named === undefined || (asked.length > 0 && !named.there))
        faults.push(
          `${when}it is refused with ${reply.status} ${problem.code} for ${problem.param}, not with 400 for ${field}`,
        )
      return { wasCharged: false }
    }
    if (shape.fails !== undefined && turn === 0) {
      if (reply.status !== shape.fails)
        faults.push(`it fails with ${reply.status} ${problem?.code}, not with ${shape.fails}`)
      return { wasCharged: false }
    }
    if (problem !== undefined) {
      const by = asked.at(-1)?.refusal
      faults.push(
        by === undefined
          ? `${when}the router refuses it: ${reply.status} ${problem.code}: ${problem.message}`
          : `${when}the provider refuses it by ${by.rule}: ${by.text}`,
      )
      return { wasCharged: false }
    }
    const last = asked.at(-1)
    if (last === undefined) {
      faults.push(`${when}the provider was not asked`)
      return { wasCharged: true }
    }
    const without = new Set(exceptions.flatMap((one) => one.without ?? []))
    const either = new Set<string>(exceptions.flatMap((one) => one.either ?? []))
    const { wire } = KINDS[to]
    const told = readRequest(wire, last.body, last.raw)
    faults.push(
      ...differences(judgedOf(dueOf(shape, to), either), told, last.raw, without).map(
        (fault) => `${when}${fault}`,
      ),
    )
    const said = turn === 0 ? (shape.says ?? HELLO) : HELLO
    const [own, ...others] = LIBRARIES[api]
    let heard: Heard | undefined
    const isRead = this.allLibraries && shape.says !== undefined && turn === 0 && !isVendor(to)
    for (const library of isRead ? [own, ...others] : [own]) {
      try {
        const read = await library.read(reply)
        if (library === own) heard = read
        faults.push(...misheard(read, said).map((fault) => `${when}${library.name} reads ${fault}`))
      } catch (error) {
        faults.push(`${when}${library.name} fails: ${String(error).slice(0, 200)}`)
      }
    }
    if (heard !== undefined && heard.cost !== Number(COST))
      faults.push(`${when}the reply says that it costs ${heard.cost}`)
    return { ...(heard !== undefined && { heard }), wasCharged: true }
  }

  private async checkCharges(cell: Cell, before: bigint, calls: number, faults: string[]): Promise<void> {
    const balance = await this.ledger.balance(keyOf(cell), CONTEXT)
    const paid = before - (balance?.posted ?? 0n)
    if (paid !== nanos(COST) * BigInt(calls))
      faults.push(`it was charged ${decimal(paid)} for ${calls} calls, not ${COST} each`)
    if (balance?.held !== 0n) faults.push(`${decimal(balance?.held ?? 0n)} are still held`)
  }

  private async send(cell: Cell, body: Json): Promise<Captured> {
    const path = { chat: '/v1/chat/completions', responses: '/v1/responses', messages: '/v1/messages' }[
      cell.api
    ]
    const headers = {
      authorization: `Bearer sk-${keyOf(cell)}`,
      'content-type': 'application/json',
      ...(cell.api === 'messages' && { 'anthropic-version': '2023-06-01' }),
    }
    const { bytes, status, type } = await this.way.post(path, headers, exactJson(body))
    return { status, headers: new Headers({ 'content-type': type }), bytes, stream: cell.form === 'stream' }
  }

  /** All requests of a cell that reached a provider. */
  askedBy(cell: Cell): readonly Asked[] {
    return [keyOf(cell), nextKeyOf(cell)].flatMap((key) => this.asked.get(key) ?? [])
  }

  private answer(path: string, headers: Readonly<Record<string, string>>, raw: string): Answered {
    const body = JSON.parse(raw) as Json
    const to = path.split('/')[1] as Target
    const { model: prefix, row, wire } = KINDS[to]
    // Google's API has the model in its path.
    const key = String(body.model ?? modelOf(decodeURIComponent(path))).slice(prefix.length + 1)
    const cell = this.cells.get(key.replace(NEXT, ''))!
    const refusal = refusalOf(row, { path, headers, body })
    const requests = this.asked.get(key) ?? []
    this.asked.set(key, requests)
    const text = JSON.stringify(refusal?.body)
    requests.push({ body, raw, refusal: refusal && { rule: refusal.rule, text } })
    if (refusal !== undefined) return { status: refusal.status, type: 'application/json', bytes: text }
    const isNext = NEXT.test(key)
    const stream = body.stream === true || path.includes(':streamGenerateContent')
    const said: Said = isNext ? HELLO : (cell.shape.says ?? HELLO)
    const odd = isNext || wire === 'gemini' ? undefined : cell.shape.oddly?.[wire]
    const offered = readRequest(wire, body, raw).tools
    return {
      status: 200,
      type: stream ? 'text/event-stream' : 'application/json',
      bytes: writeReply(wire, inOfferedNames(said, cell.shape, offered), stream, odd),
    }
  }
}

/** Returns what a model says, with the names of tools that it was offered. */
function inOfferedNames(said: Said, { tools = [] }: Shape, offered: readonly string[]): Said {
  if (said.calls === undefined || offered.length !== tools.length) return said
  const names = new Map(tools.map(({ name }, position) => [name, offered[position]]))
  return { ...said, calls: said.calls.map((call) => ({ ...call, name: names.get(call.name) ?? call.name })) }
}

const NEXT = /\.(?:next|elsewhere)$/
const nextKeyOf = (cell: Cell) => `${keyOf(cell)}.${cell.shape.next?.elsewhere ? 'elsewhere' : 'next'}`

/** The models of a cell, and the provider of each. */
function modelsOf(cell: Cell): { readonly id: string; readonly at: Target }[] {
  const { next } = cell.shape
  const first = { id: keyOf(cell), at: cell.to }
  if (next === undefined) return [first]
  return [first, { id: nextKeyOf(cell), at: next.elsewhere ? KINDS[cell.to].elsewhere : cell.to }]
}

/** The conversation one turn later: with what the client's library keeps of the reply, and a result for each call. */
function continued({ api, shape, to }: Cell, { calls, history = [] }: Heard): Shape {
  const { next, says = HELLO, turns } = shape
  const kept = api === 'messages' ? [{ role: 'assistant', content: history }] : history
  const ids = history.flatMap(idsIn)
  const made = calls.map(({ input, name }, index) => ({ call: name, input, id: ids[index] ?? '' }))
  const { wire } = KINDS[to]
  const isSigned = says.sealed === true && wire !== 'chat' && wire !== 'gemini'
  const pieces: Piece[] = [
    ...(says.thought === undefined
      ? []
      : [returning(says.thought, isSigned && next?.elsewhere !== true ? wire : undefined)]),
    ...(says.texts ?? (says.text === undefined ? [] : [says.text])),
    ...made,
  ]
  const results = made.map(({ id }, index) => ({ of: id, says: `What call ${index + 1} found` }))
  return {
    ...shape,
    // They are those of the first turn, in which they have been looked at.
    unjudged: true,
    turns: [
      ...turns,
      { native: { [api]: kept }, assistant: pieces },
      ...(results.length === 0 ? [] : [{ results }]),
      ...(next?.user === undefined ? [] : [{ user: next.user }]),
    ],
  }
}

/** A thought as its own provider must get it back: Anthropic with its text, OpenAI at least what it encrypted. */
function returning(thought: string, to: Wire | undefined): Thought {
  if (to === 'messages') return { thought, mustReturn: true, sealed: sign('anthropic', thought) }
  if (to === 'responses') return { thought: '', mustReturn: true, sealed: sign('openai', thought) }
  return { thought }
}

/** The ids of calls in what a client keeps. */
function idsIn({ call_id: id, id: block, tool_calls: calls, type }: Json): string[] {
  if (Array.isArray(calls)) return calls.map((call: Json) => String(call.id))
  if (type === 'tool_use') return [String(block)]
  return id === undefined ? [] : [String(id)]
}

/** What a library read that the model did not say. */
function misheard(heard: Heard, said: Said): string[] {
  const faults: string[] = []
  const wanted = said.text ?? ''
  const text = said.refusal !== undefined && heard.text === said.refusal ? '' : heard.text
  if (text !== wanted) faults.push(`the text '${text.slice(0, 80)}', not '${wanted}'`)
  if (heard.thought !== undefined && heard.thought !== (said.thought ?? ''))
    faults.push(`the thought '${heard.thought.slice(0, 80)}', not '${said.thought ?? ''}'`)
  const calls = (said.calls ?? []).map(({ input, name }) => `${name} ${plainInput(input)}`)
  const read = heard.calls.map(({ input, name }) => `${name} ${input}`)
  // Some libraries leave out the namespace of a tool.
  if (
    read.join() !== calls.join() &&
    read.join() !== calls.map((call) => call.replace(/^mcp__\w+?__/, '')).join()
  )
    faults.push(`the calls [${read.join()}], not [${calls.join()}]`)
  const { ends } = said
  if (typeof ends === 'object' && heard.finish !== undefined && heard.finish !== ends.at)
    faults.push(`the end ${heard.finish}, not the stop sequence ${ends.at}`)
  return faults
}

/** What is due, without the settings that are not looked at. */
function judgedOf(due: Due, either: ReadonlySet<string>): Due {
  return {
    ...due,
    settings: Object.fromEntries(Object.entries(due.settings).filter(([name]) => !either.has(name))),
  }
}

/** The error of a reply, with a status or in its stream. */
function errorIn({ bytes, status }: Captured): { code: string; param: string; message: string } | undefined {
  if (status === 200 && !bytes.includes('"error":{')) return undefined
  for (const line of bytes.split('\n').filter((one) => /^(data: )?\{/.test(one))) {
    const value = JSON.parse(line.replace(/^data: /, '')) as Json
    const response = (value.response ?? {}) as Json
    const error = (value.error ?? response.error ?? undefined) as Json | undefined
    if (error !== undefined)
      return { code: String(error.code), param: String(error.param), message: String(error.message) }
  }
  return { code: String(status), param: '', message: bytes.slice(0, 200) }
}
