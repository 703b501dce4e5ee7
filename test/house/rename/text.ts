import ts from 'typescript'

/** Replaces in the comments of a TypeScript file alone. */
export function inComments(name: string, text: string, change: (comment: string) => string): string {
  const spans = commentSpans(name, text).toSorted(([one], [other]) => other - one)
  let result = text
  for (const [start, end] of spans) {
    result = result.slice(0, start) + change(text.slice(start, end)) + result.slice(end)
  }
  return result
}

function commentSpans(name: string, text: string): (readonly [number, number])[] {
  const kind = name.endsWith('x') ? ts.ScriptKind.TSX : ts.ScriptKind.TS
  const source = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true, kind)
  const found = new Map<number, number>()
  const visit = (node: ts.Node) => {
    if (ts.isJsxText(node) || ts.isJSDoc(node)) return
    const children = node.getChildren(source)
    if (children.length > 0) return children.forEach(visit)
    const start = node.getFullStart()
    for (const { end, pos } of [
      ...(ts.getLeadingCommentRanges(text, start) ?? []),
      ...(ts.getTrailingCommentRanges(text, start) ?? []),
    ]) {
      found.set(pos, end)
    }
  }
  visit(source)
  return [...found]
}

/** Replaces in Markdown outside of its code. */
export function inProse(text: string, change: (prose: string) => string): string {
  return text
    .split(/(```[\s\S]*?```|`[^`\n]*`)/)
    .map((part, index) => (index % 2 === 0 ? change(part) : part))
    .join('')
}

/** Reads `/pattern/`, or whole words. */
export function patternOf(old: string): RegExp {
  if (old.startsWith('/'))
    return new RegExp(old.slice(1, old.lastIndexOf('/')), `g${old.slice(old.lastIndexOf('/') + 1)}`)
  return new RegExp(`(?<![\\w$])${old.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?![\\w$])`, 'g')
}
