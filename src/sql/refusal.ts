/**
 * An administrative request that cannot be carried out now: something that it refers to does not exist or conflicts with
 * it. Distinguished from a fault by `name`, because each entry of the package contains a copy of this class.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal'

  constructor(
    readonly reason: 'not-found' | 'conflict',
    message: string,
  ) {
    super(message)
  }
}
