import ts from 'typescript'
import type { Edits } from './edits.js'
import type { Project } from './project.js'

/** Planted bugs name the text of the source that they change: `file`, `from` and `to` of an object. */
export function movePlanted(project: Project, edits: Edits, file: string): readonly string[] {
  const left: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isObjectLiteralExpression(node)) {
      const [path, from, to] = ['file', 'from', 'to'].map((name) => literal(node, name))
      if (path !== undefined && from !== undefined) {
        const source = project.text(path.text)
        const start = source.indexOf(from.text)
        if (start < 0) left.push(`${path.text}: ${from.text}`)
        const end = start + from.text.length
        const renamed = new Map<string, string>()
        for (const edit of edits.of(path.text)) {
          if (!edit.text.includes(':')) renamed.set(source.slice(edit.start, edit.end), edit.text)
        }
        if (start >= 0) replaceLiteral(edits, file, from, edits.applied(path.text, source, start, end))
        const words = (text: string) => text.replace(/[#\w$]+/g, (word) => renamed.get(word) ?? word)
        if (to !== undefined) replaceLiteral(edits, file, to, words(to.text))
      }
    }
    ts.forEachChild(node, visit)
  }
  visit(project.source(file))
  return left
}

function literal(node: ts.ObjectLiteralExpression, name: string): ts.StringLiteralLike | undefined {
  const property = node.properties.find((each) => each.name?.getText() === name)
  if (property === undefined || !ts.isPropertyAssignment(property)) return undefined
  return ts.isStringLiteralLike(property.initializer) ? property.initializer : undefined
}

function replaceLiteral(edits: Edits, file: string, node: ts.StringLiteralLike, text: string): void {
  if (text === node.text) return
  const quoted = JSON.stringify(text)
  const single = `'${quoted.slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
  edits.add(file, {
    start: node.getStart(),
    end: node.getEnd(),
    text: text.includes("'") && !text.includes('"') ? quoted : single,
  })
}
