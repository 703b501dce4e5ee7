/** How the elements of a conversation, in the form of one API, take part in calls of tools. */
export interface CallsAndResults<Element> {
  /** Returns the ids of the calls in an element. `''` stands for a call without an id. */
  callsOf(element: Element): readonly string[]
  /**
   * Returns the id of the call whose result an element is, or undefined if it is no result. `''` stands for a result
   * without an id, which answers the next call of the last reply with calls.
   */
  resultOf(element: Element): string | undefined
  /** Whether an element belongs to the reply of the one before it. Absent if each element is a reply of its own. */
  continuesReply?(element: Element): boolean
  /** Returns the result of a call of this element that has none. */
  missing(id: string, element: Element): Element
  /** Returns what a result says, to compare it with others of its call. */
  saidBy(result: Element): unknown
  /** Returns a result without a call as a text of the user. */
  orphan(result: Element, id: string): Element
}

/** What the model reads as the result of a call that has none. */
export const NO_RESULT = 'There is no result: the call was interrupted.'

/** Returns the words that precede a result without a call. */
export function orphanWords(id: string): string {
  return id === '' ? 'The result of a call of a tool:' : `The result of the call ${id} of a tool:`
}

/**
 * Puts the results of calls where every API takes them: right behind the reply with their calls, one for each.
 *
 * Clients send other messages between a call and its result, answer a call twice, drop a call whose result they keep,
 * and interrupt calls. A call that has no result gets one that says so, unless the conversation ends with its reply. A
 * result without a call, and each further result of a call that says something else, becomes a text of the user. Nothing
 * else changes its place.
 * Returns the same list if it is already right. Takes one pass over it then, and time in proportion to it otherwise.
 */
export function settleResults<Element>(
  elements: readonly Element[],
  view: CallsAndResults<Element>,
): readonly Element[] {
  return isSettled(elements, view) ? elements : new Settlement(elements, view).settled()
}

function isSettled<Element>(elements: readonly Element[], view: CallsAndResults<Element>): boolean {
  const open = new OpenIds()
  let hasResults = false
  for (const element of elements) {
    const result = view.resultOf(element)
    if (result !== undefined) {
      if (!open.take(result)) return false
      hasResults = true
      continue
    }
    const continues = !hasResults && view.continuesReply?.(element) === true
    if (open.size > 0 && !continues) return false
    hasResults = false
    for (const id of view.callsOf(element)) open.add(id)
  }
  return open.size === 0 || !hasResults
}

/** The ids of calls without a result. One id may occur several times. */
class OpenIds {
  size = 0
  private counts: Map<string, number> | undefined

  add(id: string): void {
    this.counts ??= new Map()
    this.counts.set(id, (this.counts.get(id) ?? 0) + 1)
    this.size++
  }

  /** Returns whether there was such a call. */
  take(id: string): boolean {
    const { counts } = this
    if (counts === undefined || this.size === 0) return false
    const taken = id === '' && !counts.has(id) ? (counts.keys().next().value as string) : id
    const count = counts.get(taken)
    if (count === undefined) return false
    if (count === 1) counts.delete(taken)
    else counts.set(taken, count - 1)
    this.size--
    return true
  }
}

interface Call<Element> {
  readonly id: string
  readonly element: Element
  result: Element | undefined
}

/** Calls in their order. Those before `next` have their results. */
class Queue<Element> {
  readonly calls: Call<Element>[] = []
  private next = 0
  /** What the results of the first calls say, once another is compared with them: so many as `compared`. */
  private readonly said = new Set<string>()
  private compared = 0

  /** Returns the first call without a result. */
  first(): Call<Element> | undefined {
    while (this.calls[this.next]?.result !== undefined) this.next++
    return this.calls[this.next]
  }

  /** Whether the result of a call says the same, if all calls have one. */
  hasSaid(result: Element, view: CallsAndResults<Element>): boolean {
    for (; this.compared < this.calls.length; this.compared++)
      this.said.add(JSON.stringify(view.saidBy(this.calls[this.compared]!.result!)))
    return this.said.has(JSON.stringify(view.saidBy(result)))
  }
}

/** Returns the calls to which a result without an id belongs: those of the last reply, unless an earlier call has no id. */
function nextUnnamed<Element>(last: Queue<Element>, unnamed: Queue<Element> | undefined): Queue<Element> {
  return last.first()?.id !== '' && unnamed?.first() !== undefined ? unnamed : last
}

class Settlement<Element> {
  /** The calls of each reply, by the position of its last element. */
  private readonly callsBefore = new Map<number, readonly Call<Element>[]>()
  private readonly orphans = new Set<number>()

  constructor(
    private readonly elements: readonly Element[],
    private readonly view: CallsAndResults<Element>,
  ) {
    const byId = new Map<string, Queue<Element>>()
    let reply = new Queue<Element>()
    let lastWithCalls = reply
    let hasEnded = false
    for (const [position, element] of elements.entries()) {
      const id = view.resultOf(element)
      if (id !== undefined) {
        hasEnded = true
        const calls = id === '' ? nextUnnamed(lastWithCalls, byId.get('')) : byId.get(id)
        const call = calls?.first()
        if (call !== undefined) call.result = element
        else if (calls?.hasSaid(element, view) !== true) this.orphans.add(position)
        continue
      }
      if (hasEnded || view.continuesReply?.(element) !== true) {
        reply = new Queue()
        hasEnded = false
      }
      for (const callId of view.callsOf(element)) {
        const call: Call<Element> = { id: callId, element, result: undefined }
        reply.calls.push(call)
        lastWithCalls = reply
        const queue = byId.get(callId) ?? new Queue()
        queue.calls.push(call)
        byId.set(callId, queue)
      }
      if (reply.calls.length > 0 && !this.goesOnAfter(position)) this.callsBefore.set(position, reply.calls)
    }
  }

  settled(): Element[] {
    const { elements, orphans, view } = this
    const settled: Element[] = []
    const last = elements.length - 1
    for (const [position, element] of elements.entries()) {
      const id = view.resultOf(element)
      if (id === undefined) settled.push(element)
      else if (orphans.has(position)) settled.push(view.orphan(element, id))
      for (const call of this.callsBefore.get(position) ?? []) {
        if (call.result !== undefined) settled.push(call.result)
        else if (position < last) settled.push(view.missing(call.id, call.element))
      }
    }
    return settled
  }

  private goesOnAfter(position: number): boolean {
    const next = this.elements[position + 1]
    if (next === undefined || this.view.resultOf(next) !== undefined) return false
    return this.view.continuesReply?.(next) === true
  }
}
