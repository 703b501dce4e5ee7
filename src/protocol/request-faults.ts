import type { $ZodIssue } from 'zod/v4/core'
import { CompatError, type ErrorCode } from '../base/errors.js'
import { cleanLabel } from './text.js'

const MAX_DETAILS = 20
const SHOWN_KEY_CHARS = 64

/** One thing that is wrong with a request. Names the field, never the value that it has. */
export interface RequestFault {
  readonly param: string
  readonly message: string
}

/** Collects at most 20 faults of a request. */
export class RequestFaults {
  readonly list: RequestFault[] = []

  get full(): boolean {
    return this.list.length >= MAX_DETAILS
  }

  add(param: string, rule: string): void {
    if (!this.full) this.list.push({ param, message: `${param} ${rule}.` })
  }

  /** Adds what a schema found below `path`. */
  addIssues(issues: readonly $ZodIssue[], path: readonly PropertyKey[] = []): void {
    for (const issue of issues) {
      if (this.full) return
      const here = [...path, ...issue.path]
      if (issue.code === 'unrecognized_keys') {
        for (const key of issue.keys.slice(0, MAX_DETAILS)) {
          this.add(paramOf([...here, cleanLabel(key, SHOWN_KEY_CHARS)]), 'is not a known field')
        }
        continue
      }
      // Of a union's branches, the one that got inside the value is the one that was meant.
      const inside =
        issue.code === 'invalid_union'
          ? issue.errors.find((branch) =>
              branch.some((inner) => inner.path.length > 0 || inner.code === 'too_big'),
            )
          : undefined
      if (inside === undefined) this.add(paramOf(here), issue.message)
      else this.addIssues(inside, here)
    }
  }

  /** The 400 that names the first fault, or the first one of a field with a code of its own. */
  error(codes: readonly (readonly [field: string, code: ErrorCode])[]): CompatError {
    for (const [field, code] of codes) {
      const fault = this.list.find((candidate) => candidate.param === field)
      if (fault !== undefined) return this.#errorAbout(fault, code)
    }
    return this.#errorAbout(this.list[0]!, 'invalid_request')
  }

  #errorAbout(fault: RequestFault, code: ErrorCode): CompatError {
    const details = [fault, ...this.list.filter((other) => other !== fault)]
    return new CompatError(code, fault.message, { param: fault.param, details })
  }
}

function paramOf(path: readonly PropertyKey[]): string {
  return path.map(String).join('.')
}
