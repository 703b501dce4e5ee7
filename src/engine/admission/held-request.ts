import type { Asked } from '../../contracts/operation.js'

/**
 * A request that is kept until no further route can get it. Once the call has begun, nothing but its plan refers to it
 * otherwise.
 */
export class HeldRequest<A extends Asked = Asked> {
  private held: A | undefined
  private body: A | undefined

  /** @param asked as its body was read */
  constructor(asked: A) {
    this.held = asked
    this.body = asked
  }

  get asked(): A {
    return known(this.held)
  }

  /** The same without what headers added. */
  get asSent(): A {
    return known(this.body)
  }

  /** Adds what headers say. */
  change(asked: A): void {
    this.held = asked
  }

  forget(): void {
    this.held = undefined
    this.body = undefined
  }
}

function known<A>(held: A | undefined): A {
  if (held === undefined) throw new Error('The request was released.')
  return held
}
