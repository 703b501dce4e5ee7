import { Problem } from '../base/problem.js'
import type { Values } from './dialogs.js'

/** A member where something was written, and no member where nothing was. */
export function optional<Name extends string>(
  values: Values,
  name: Name,
): { readonly [Key in Name]?: string } {
  const text = values.text(name)
  return (text === undefined ? {} : { [name]: text }) as { readonly [Key in Name]?: string }
}

/** What has to be there: browsers see to it before the form is sent, but not where there are only blanks. */
export function needed(values: Values, name: string): string {
  const text = values.text(name)
  if (text === undefined) throw new Problem('Something has to stand here.', { field: name })
  return text
}

export function wholeNumber(values: Values, name: string): number | undefined {
  const text = values.text(name)
  if (text === undefined) return undefined
  if (!/^\d{1,15}$/.test(text)) throw new Problem('This has to be a whole number, or empty.', { field: name })
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

/** Parts between commas or line ends. */
export function list(values: Values, name: string): readonly string[] {
  const parts = (values.text(name) ?? '').split(/[,\n]/).map((part) => part.trim())
  return parts.filter((part) => part !== '')
}

/** The end of a day, at which a key ends. */
export function dayEnd(values: Values, name: string): number | undefined {
  const day = values.text(name)
  return day === undefined ? undefined : Date.parse(`${day}T23:59:59.999Z`)
}

/** Without the members that are undefined: the API knows absent ones only. */
export function present<Members extends object>(
  members: Members,
): {
  [Name in keyof Members]: Exclude<Members[Name], undefined>
} {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never
}
