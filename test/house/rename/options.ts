import ts from 'typescript'
import type { Edits } from './edits.js'
import type { Project } from './project.js'

/** An option that moves from one object into another, such as `limits.storeMs` to `timeouts.storeMs`. */
export interface Move {
  readonly from: string
  readonly to: string
  readonly member: string
}

/** Splits the objects in which options stand, and renames the way to each. Returns what a person must split. */
export function moveOptions(project: Project, edits: Edits, moves: readonly Move[]): readonly string[] {
  const left: string[] = []
  for (const file of project.files) {
    if (!/\.tsx?$/.test(file)) continue
    const source = project.source(file)
    const visit = (node: ts.Node): void => {
      if (ts.isPropertyAccessExpression(node)) {
        const way = node.expression
        const move = moves.find(({ from, member }) => node.name.text === member && endsIn(way, from))
        if (move !== undefined && (ts.isPropertyAccessExpression(way) || ts.isIdentifier(way))) {
          const name = ts.isIdentifier(way) ? way : way.name
          if (ts.isIdentifier(way)) {
            if (!isSplit(project, way, moves)) left.push(place(source, way))
            else edits.add(file, { start: way.getStart(), end: way.getEnd(), text: move.to })
          } else edits.add(file, { start: name.getStart(), end: name.getEnd(), text: move.to })
        }
      }
      if (ts.isBindingElement(node) && ts.isIdentifier(node.name) && isSplit(project, node.name, moves)) {
        const uses = usesOf(project, node.name).map((use) => moveOf(use, moves)!.to)
        edits.add(file, { start: node.getStart(), end: node.getEnd(), text: [...new Set(uses)].join(', ') })
      }
      if (ts.isPropertyAssignment(node) && ts.isObjectLiteralExpression(node.initializer)) {
        const name = node.name.getText()
        const own = moves.filter(({ from }) => from === name)
        const names = node.initializer.properties.map((each) => each.name?.getText())
        if (names.some((each) => own.some(({ member }) => member === each))) {
          if (names.every((each) => own.some(({ member }) => member === each))) {
            const groups = groupBy(node.initializer.properties, (each) => {
              return own.find(({ member }) => member === each.name?.getText())!.to
            })
            const isMultiline = node.getText().includes('\n')
            const text = [...groups].map(([to, members]) => {
              const inner = members.map((each) =>
                isMultiline ? source.text.slice(each.getFullStart(), each.end) : each.getText(),
              )
              return `${to}: { ${inner.join(',')} }`
            })
            edits.add(file, { start: node.getStart(), end: node.getEnd(), text: text.join(', ') })
            return
          }
          left.push(place(source, node))
        }
      }
      ts.forEachChild(node, visit)
    }
    visit(source)
  }
  return left
}

/** Whether a variable is one that is taken from options, and only its members that move are read. */
function isSplit(project: Project, name: ts.Identifier, moves: readonly Move[]): boolean {
  if (!moves.some(({ from }) => from === name.text)) return false
  const declared = project.program.getTypeChecker().getSymbolAtLocation(name)?.valueDeclaration
  if (declared === undefined || !ts.isBindingElement(declared) || declared.propertyName !== undefined)
    return false
  const uses = usesOf(project, name)
  return uses.length > 0 && uses.every((use) => moveOf(use, moves) !== undefined)
}

function usesOf(project: Project, name: ts.Identifier): readonly ts.Identifier[] {
  const checker = project.program.getTypeChecker()
  const symbol = checker.getSymbolAtLocation(name)
  const found: ts.Identifier[] = []
  const visit = (node: ts.Node): void => {
    const isShort = ts.isIdentifier(node) && ts.isShorthandPropertyAssignment(node.parent)
    if (
      ts.isIdentifier(node) &&
      node.text === name.text &&
      node !== symbol?.valueDeclaration?.getChildAt(0)
    ) {
      const meant = isShort
        ? checker.getShorthandAssignmentValueSymbol(node.parent)
        : checker.getSymbolAtLocation(node)
      if (meant === symbol) found.push(node)
    }
    ts.forEachChild(node, visit)
  }
  visit(name.getSourceFile())
  return found
}

function moveOf({ parent, text }: ts.Identifier, moves: readonly Move[]): Move | undefined {
  if (!ts.isPropertyAccessExpression(parent)) return undefined
  return moves.find(({ from, member }) => from === text && member === parent.name.text)
}

function groupBy<Item, Key>(
  items: readonly Item[],
  keyOf: (item: Item) => Key,
): ReadonlyMap<Key, readonly Item[]> {
  const groups = new Map<Key, Item[]>()
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item])
  return groups
}

function endsIn(way: ts.Expression, name: string): boolean {
  return ts.isIdentifier(way)
    ? way.text === name
    : ts.isPropertyAccessExpression(way) && way.name.text === name
}

function place(source: ts.SourceFile, node: ts.Node): string {
  const { line } = source.getLineAndCharacterOfPosition(node.getStart())
  return `${source.fileName}:${line + 1}: ${source.text.split('\n')[line]!.trim()}`
}

/** Moves options in prose and in the code blocks of documents. */
export function moveInText(text: string, moves: readonly Move[]): string {
  let result = text
  for (const { from, member, to } of moves) {
    result = result.replace(new RegExp(`\\b${from}\\.(?=${member}\\b)`, 'g'), `${to}.`)
  }
  for (const from of new Set(moves.map((move) => move.from))) {
    result = result.replace(new RegExp(`\\b${from}: \\{ ([^{}]*?) \\}`, 'g'), (all, inner: string) => {
      const members = inner.split(/,\s*/).filter((each) => each !== '')
      const groups = groupBy(members, (each) => {
        return moves.find((move) => move.from === from && move.member === /^\w+/.exec(each)?.[0])?.to
      })
      if (groups.has(undefined)) return all
      return [...groups].map(([to, own]) => `${to}: { ${own.join(', ')} }`).join(', ')
    })
  }
  return result
}
