/**
 * - `unknown_option`: no option has this name
 * - `invalid_option`: the value of an option is missing or wrong
 */
export type OptionsErrorCode = 'invalid_option' | 'unknown_option'

export interface OptionsErrorFields {
  readonly code: OptionsErrorCode
  /** The function that was called, such as `createCompatRouter`. */
  readonly where: string
  /** The path of the option, such as `timeouts.totalMs`. Empty for the options as a whole. */
  readonly field: string
  /** The fault, as words that follow the name of the option. It never shows a secret. */
  readonly problem: string
  /** The id of the model or route, if the option belongs to one. */
  readonly id?: string | undefined
}

/** The error of a function whose options are wrong, with what a host needs to answer 400 if they came from a request. */
export class OptionsError extends TypeError {
  override readonly name = 'OptionsError'
  readonly code: OptionsErrorCode
  readonly field: string
  readonly problem: string
  readonly id: string | undefined

  constructor({ code, field, id, problem, where }: OptionsErrorFields) {
    const option = id === undefined ? field : `${field} of ${JSON.stringify(id)}`
    super(
      code === 'unknown_option' || field === ''
        ? `${field === '' ? where : option} ${problem}`
        : `${where}: ${option} ${problem}`,
    )
    this.code = code
    this.field = field
    this.problem = problem
    this.id = id
  }
}

/** Whether a value is an {@link OptionsError}, even from another copy of this module. */
export function isOptionsError(value: unknown): value is OptionsError {
  return value instanceof TypeError && value.name === 'OptionsError' && 'field' in value
}
