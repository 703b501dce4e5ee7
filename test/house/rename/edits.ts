/** A span of a file's text and what replaces it. */
export interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
  /** The name that is replaced, of a shorthand. */
  readonly old?: string
}

/** The edits of all files, each against the text that the file had at first. */
export class Edits {
  readonly #byFile = new Map<string, Edit[]>()

  add(file: string, edit: Edit): void {
    const edits = this.#byFile.get(file) ?? []
    this.#byFile.set(file, edits)
    const same = edits.findIndex(({ end, start }) => start === edit.start && end === edit.end)
    if (same >= 0) {
      edits[same] = joined(file, edits[same]!, edit)
      return
    }
    const clash = edits.find(({ end, start }) => start < edit.end && edit.start < end)
    if (clash !== undefined)
      throw new Error(`${file}:${edit.start}: '${clash.text}' and '${edit.text}' overlap`)
    edits.push(edit)
  }

  files(): readonly string[] {
    return [...this.#byFile.keys()]
  }

  /** The edits of a file, in order. */
  of(file: string): readonly Edit[] {
    return (this.#byFile.get(file) ?? []).toSorted((one, other) => one.start - other.start)
  }

  /** Returns what becomes of a part of a file's text. */
  applied(file: string, text: string, start = 0, end = text.length): string {
    let result = ''
    let at = start
    for (const edit of this.of(file)) {
      if (edit.end <= start || edit.start >= end) continue
      result += text.slice(at, edit.start) + edit.text
      at = edit.end
    }
    return result + text.slice(at, end)
  }
}

/** A shorthand, such as `{ limit }`, is both a member and a variable: each of them may have got another name. */
function joined(file: string, one: Edit, other: Edit): Edit {
  if (one.text === other.text) return one
  const old = one.old ?? other.old
  const parts = [one, other].map(({ text }) => text.split(': '))
  // `new: old` renames the member, `old: new` the variable.
  const member = parts.find((part) => part.length === 2 && part[1] === old)?.[0]
  const variable = parts.find((part) => part.length === 2 && part[0] === old)?.[1]
  if (member !== undefined && variable !== undefined) {
    return { ...one, text: member === variable ? member : `${member}: ${variable}` }
  }
  throw new Error(`${file}:${one.start}: '${one.text}' or '${other.text}'?`)
}
