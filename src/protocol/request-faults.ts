import type { $ZodIssue } from 'zod/v4/core'
import { CompatError, type ErrorCode } from '../base/errors.js'
import { cleanLabel } from './text.js'

const MAX_DETAILS = 20
const SHOWN_KEY_CHARS = 64

/** One fault of a request. It names the field, never its value. */
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

  /** Adds the issues that a schema found below `path`. */
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
      // The branch of a union that got furthest into the value is the one that the client meant.
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

  /** Returns the 400 for the first fault of a field with a code of its own, otherwise for the first fault. */
  error(codes: readonly (readonly [field: string, code: ErrorCode])[]): CompatError {
    for (const [field, code] of codes) {
      const fault = this.list.find((candidate) => candidate.param === field)
      if (fault !== undefined) return this.errorAbout(fault, code)
    }
    return this.errorAbout(this.list[0]!, 'invalid_request')
  }

  private errorAbout(fault: RequestFault, code: ErrorCode): CompatError {
    const details = [fault, ...this.list.filter((other) => other !== fault)]
    return new CompatError(code, fault.message, { param: fault.param, details })
  }
}

function paramOf(path: readonly PropertyKey[]): string {
  return path.map(String).join('.')
}
