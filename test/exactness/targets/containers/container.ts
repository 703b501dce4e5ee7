import { untilQuiet } from '../../peers.js'
import type { Gateway, Policy, Target, Upstream } from '../../target.js'
import { PRICES, priceOf } from '../../usage.js'

/** A container that somebody has started by its own documentation. */
export interface Container {
  /** From `EXACTNESS_URL`, such as `http://127.0.0.1:4000`. */
  readonly url: string
  /** From `EXACTNESS_ADMIN`: the credential of its administration. */
  readonly admin: string
  readonly upstream: Upstream
}

export interface ContainerTarget {
  readonly name: string
  /** How to start it, and what to set. */
  readonly settings: readonly string[]
  readonly policy: Omit<Policy, 'price'> & Partial<Pick<Policy, 'price'>>
  /** How long its records may take to appear. */
  readonly quietMs: number
  /** Configures it over its API. `charges` need not wait. */
  open(container: Container): Promise<Omit<Gateway, 'stop'>>
}

/** A target that the benchmark does not start itself. It is not run by the project, which has no containers. */
export function containerTarget({ name, open, policy, quietMs, settings }: ContainerTarget): Target {
  const version = process.env.EXACTNESS_VERSION ?? 'of a version that EXACTNESS_VERSION did not name'
  return {
    name,
    version: `${name} ${version}`,
    settings: [
      ...settings,
      'started outside of the benchmark, at EXACTNESS_URL; its administration by EXACTNESS_ADMIN',
    ],
    policy: { price: (usage) => priceOf(usage, PRICES), ...policy },
    async start(upstream) {
      const { EXACTNESS_ADMIN: admin, EXACTNESS_URL: url } = process.env
      if (url === undefined || admin === undefined) {
        throw new Error(
          `Start ${name} in a container, and set EXACTNESS_URL and EXACTNESS_ADMIN: see its adapter.`,
        )
      }
      const { charges, ...rest } = await open({ url, admin, upstream })
      return {
        ...rest,
        ...(charges !== undefined && { charges: () => untilQuiet(charges, quietMs) }),
        stop: async () => undefined,
      }
    },
  }
}
