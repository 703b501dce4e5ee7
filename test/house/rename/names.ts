import { relative } from 'node:path'
import ts from 'typescript'
import type { Edits } from './edits.js'
import { isIn, type Project } from './project.js'

type Named = ts.Identifier | ts.PrivateIdentifier

/** One declared name and its new one. */
export interface Naming {
  readonly file: string
  readonly node: Named
  readonly to: string
}

/** Returns the declarations of `PATHS#NAME` or `PATHS#CONTAINER.NAME`. */
export function findDeclared(project: Project, address: string): readonly (readonly [string, Named])[] {
  const [paths = '', name = ''] = address.split('#')
  const [container, member] = name.includes('.') ? name.split('.') : [undefined, name]
  return declarations(project, paths).filter(
    ([, node]) =>
      node.text.replace(/^#/, '') === member && (container === undefined || isInside(node, container)),
  )
}

/** Returns the declarations under `PATHS` whose names contain a word, in camelCase or CAPITALS. */
export function findWord(
  project: Project,
  paths: string,
  word: string,
): readonly (readonly [string, Named])[] {
  return declarations(project, paths).filter(([, node]) => hasWord(node.text, word))
}

/** Replaces a word in a name, in each of its spellings. `s` at its end is kept. */
export function withWord(name: string, from: string, to: string): string {
  const pairs = [
    [new RegExp(`(?<![A-Za-z])${decapitalised(from)}(?=s?(?![a-z]))`, 'g'), decapitalised(to)],
    [new RegExp(`${capitalised(from)}(?=s?(?![a-z]))`, 'g'), capitalised(to)],
    [new RegExp(`(?<![A-Z])${constant(from)}(?=S?(?![A-Z]))`, 'g'), constant(to)],
  ] as const
  return pairs.reduce((text, [pattern, word]) => text.replace(pattern, word), name)
}

function hasWord(name: string, word: string): boolean {
  return withWord(name, word, '\u0000') !== name
}

const capitalised = (word: string) => word.charAt(0).toUpperCase() + word.slice(1)
const decapitalised = (word: string) => word.charAt(0).toLowerCase() + word.slice(1)
const constant = (word: string) => word.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase()

function declarations(project: Project, paths: string): readonly (readonly [string, Named])[] {
  const found: (readonly [string, Named])[] = []
  for (const file of project.files) {
    if (!/\.tsx?$/.test(file) || !isIn(file, paths)) continue
    const visit = (node: ts.Node): void => {
      const name = declaredName(node)
      if (name !== undefined) found.push([file, name])
      ts.forEachChild(node, visit)
    }
    visit(project.source(file))
  }
  return found
}

function declaredName(node: ts.Node): Named | undefined {
  if (ts.isShorthandPropertyAssignment(node) || ts.isPropertyAssignment(node)) return undefined
  if (ts.isImportSpecifier(node) || ts.isExportSpecifier(node) || ts.isPropertyAccessExpression(node))
    return undefined
  if (ts.isMetaProperty(node) || ts.isJsxAttribute(node) || ts.isNamedTupleMember(node)) return undefined
  // `{ member }` names the member of another declaration; `{ member: name }` and a parameter declare the name.
  const { name } = node as ts.NamedDeclaration
  if (name === undefined) return undefined
  return ts.isIdentifier(name) || ts.isPrivateIdentifier(name) ? name : undefined
}

function isInside(node: ts.Node, container: string): boolean {
  for (let outer = node.parent?.parent; outer !== undefined; outer = outer.parent) {
    const { name } = outer as ts.NamedDeclaration
    if (name !== undefined && 'text' in name && name.text === container) return true
  }
  return false
}

/** Adds the edits that give a declaration its new name everywhere. Returns how many there are. */
export function rename(
  project: Project,
  edits: Edits,
  { file, node, to }: Naming,
  seen: Set<string>,
): number {
  const sign = node.text.startsWith('#') ? '#' : ''
  const key = (path: string, start: number) => `${path}:${start}`
  if (seen.has(key(file, node.getStart()))) return 0
  const locations =
    project.service.findRenameLocations(node.getSourceFile().fileName, node.getStart(), false, false, {
      providePrefixAndSuffixTextForRename: true,
    }) ?? []
  if (locations.length === 0) throw new Error(`${file}: '${node.text}' cannot be renamed`)
  for (const { fileName, prefixText = '', suffixText = '', textSpan } of locations) {
    const path = relative(process.cwd(), fileName)
    if (path.startsWith('node_modules') || path.startsWith('..')) {
      throw new Error(`${file}: '${node.text}' is also declared in ${path}`)
    }
    const { length, start } = textSpan
    const old = project.source(path).text.slice(start, start + length)
    const plain = old.startsWith('#') ? sign + to : to
    edits.add(path, { start, end: start + length, text: prefixText + plain + suffixText, old })
    if (prefixText === '' && suffixText === '') seen.add(key(path, start))
  }
  return locations.length
}
