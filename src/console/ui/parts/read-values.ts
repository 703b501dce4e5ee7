import type { NewLimitView } from '../../protocol.js'
import { Problem } from '../base/problem.js'
import type { Values } from './dialogs.js'

/** Returns a required value. Browsers check this before they submit a form, but accept blanks. */
export function needed(values: Values, name: string): string {
  const text = values.text(name)
  if (text === undefined) throw new Problem('This field is required.', { field: name })
  return text
}

export function wholeNumber(values: Values, name: string): number | undefined {
  const text = values.text(name)
  if (text === undefined) return undefined
  if (!/^\d{1,15}$/.test(text)) throw new Problem('This must be a whole number, or empty.', { field: name })
  return Number(text)
}

export function json(values: Values, name: string): unknown {
  const text = values.text(name)
  if (text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Problem(`This is not JSON: ${(error as Error).message}`, { field: name })
  }
}

/** Splits at commas and line ends. */
export function list(values: Values, name: string): readonly string[] {
  const parts = (values.text(name) ?? '').split(/[,\n]/).map((part) => part.trim())
  return parts.filter((part) => part !== '')
}

/** Returns the end of a day, at which a key expires. */
export function dayEnd(values: Values, name: string): number | undefined {
  const day = values.text(name)
  return day === undefined ? undefined : Date.parse(`${day}T23:59:59.999Z`)
}

/** The limits of a new key, from the fields `budget` and `rate`. */
export function newLimits(values: Values): NewLimitView[] | undefined {
  const budget = amountOf(values, 'budget', /^\d+(?:\.\d{1,9})?$/, 'Must be credits, such as 20 or 0.5.')
  const rate = amountOf(values, 'rate', /^\d+$/, 'Must be a whole number of calls.')
  if (budget === undefined && rate === undefined) return undefined
  return [
    ...(budget === undefined ? [] : [{ unit: 'credits' as const, amount: budget, per: 'month' as const }]),
    ...(rate === undefined ? [] : [{ unit: 'requests' as const, amount: rate, per: 'minute' as const }]),
  ]
}

function amountOf(values: Values, name: string, pattern: RegExp, rule: string): string | undefined {
  const text = values.text(name)
  if (text !== undefined && !pattern.test(text)) throw new Problem(rule, { field: name })
  return text
}
