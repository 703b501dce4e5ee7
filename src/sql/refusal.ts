/**
 * An administration that cannot be carried out as things stand: what it names is not there, or stands against it.
 * Told from a fault by `name`, since the package's entries hold copies of this class.
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
