import type { CallPlan } from './call-plan.js'
import { isObject, type Json, type JsonObject } from './json.js'
import type { Plant } from './plants.js'
import { runWorld, type WorldPlan } from './run.js'
import type { Servers } from './servers.js'

const MOST_TRIES = 60

/**
 * Reduces a call that broke a promise to its essential parts: alone in its world, then without everything
 * unnecessary. Returns undefined if other calls are needed to break it.
 */
export async function shrinkCall(
  world: WorldPlan,
  name: string,
  kind: string,
  servers: Servers,
  plant?: Plant,
): Promise<CallPlan | undefined> {
  let tries = 0
  const breaks = async (plan: CallPlan): Promise<boolean> => {
    if (++tries > MOST_TRIES) return false
    const isSlow = world.slow.some((one) => one.name === name)
    const alone = { ...world, calls: isSlow ? [] : [plan], slow: isSlow ? [plan] : [] }
    const { violations } = await runWorld(alone, servers, plant)
    return violations.some((violation) => violation.call === name && violation.kind === kind)
  }
  let smallest = [...world.calls, ...world.slow].find((plan) => plan.name === name)
  if (smallest === undefined || !(await breaks(smallest))) return undefined
  for (let isSmaller = true; isSmaller && tries <= MOST_TRIES; ) {
    isSmaller = false
    for (const smaller of smallerPlans(smallest)) {
      if (!(await breaks(smaller))) continue
      smallest = smaller
      isSmaller = true
      break
    }
  }
  return smallest
}

function* smallerPlans(plan: CallPlan): Iterable<CallPlan> {
  const { idempotencyKey, ...unkeyed } = plan
  if (idempotencyKey !== undefined) yield unkeyed
  if (plan.leaving !== 'stays') yield { ...plan, leaving: 'stays' }
  if (plan.reply.thinking > 0) yield { ...plan, reply: { ...plan.reply, thinking: 0 } }
  const body = JSON.parse(plan.text) as Json
  if (!isObject(body) || JSON.stringify(body) !== plan.text) return
  for (const smaller of smallerBodies(body)) yield { ...plan, text: JSON.stringify(smaller) }
}

function* smallerBodies(body: JsonObject): Iterable<JsonObject> {
  for (const name of Object.keys(body)) {
    if (['model', 'messages', 'stream'].includes(name)) continue
    const { [name]: _, ...rest } = body
    yield rest
  }
  const messages = Array.isArray(body.messages) ? (body.messages as readonly Json[]) : []
  for (const index of messages.keys()) {
    if (messages.length > 1) yield { ...body, messages: messages.filter((_, place) => place !== index) }
  }
  for (const [index, message] of messages.entries()) {
    const content = isObject(message) ? message.content : undefined
    const put = (smaller: Json): JsonObject => ({
      ...body,
      messages: messages.map((one, place) =>
        place === index ? { ...(one as JsonObject), content: smaller } : one,
      ),
    })
    if (typeof content === 'string' && content.length > 8) yield put(content.slice(0, content.length >> 1))
    if (Array.isArray(content) && content.length > 1) {
      for (const part of content as readonly Json[]) yield put([part])
    }
  }
}
