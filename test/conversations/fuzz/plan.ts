import { createRandom } from '../../simulation/random.js'
import { APIS, type Api, FORMS, type Form, type Shape } from '../shape.js'
import { SHAPES } from '../shapes/index.js'
import { writeRequest } from '../write/index.js'
import { mutated } from './mutate.js'

/** A conversation that goes through one API to all kinds of providers, in one form of reply. */
export interface Plan {
  readonly shape: Shape
  readonly api: Api
  readonly form: Form
}

const MOST_MUTATIONS = 6

/** Shapes that mean the same wherever they are changed: rules say what becomes of them, and replies are plain. */
const BASES = SHAPES.filter(({ except, fails, members, oddly }) =>
  [except, fails, members, oddly].every((one) => one === undefined),
)

const clientsOf = (shape: Shape) => APIS.filter((api) => writeRequest(api, shape, 'm', false) !== undefined)

/** The same seed makes the same conversation. The name is that of its models. */
export function planConversation(seed: string, name: string): Plan {
  const random = createRandom(`conversation ${seed}`)
  const base = random.pick(BASES)
  const api = random.pick(clientsOf(base))
  const form = random.pick(FORMS)
  const shape = mutated({ ...base, name }, api, random.int(1, MOST_MUTATIONS), random)
  return { shape, api, form }
}
