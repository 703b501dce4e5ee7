const BLOCK = /^```ts check=signatures\n.*?^```$/ms

/** Returns the signatures of all functions of administration by group, from the report of their public types. */
export function adminSignatures(report: string): string {
  const interfaces = new Map(
    [...report.matchAll(/^interface (\w*Admin)(?: extends (\w+))? \{\n(.*?)^\}/gms)].map(
      ([, name, base, members]) => [name!, { base, members: members!.replace(/^ {4}/gm, '').trim() }],
    ),
  )
  const membersOf = (name: string): string => {
    const { base, members } = interfaces.get(name)!
    return base === undefined ? members : `${members}\n${membersOf(base)}`
  }
  return [...interfaces.get('Admin')!.members.matchAll(/^readonly (\w+): (\w+);$/gm)]
    .map(([, group, name]) => `// admin.${group}\n${membersOf(name!)}`)
    .join('\n\n')
}

/** Returns a document with these signatures in its block `check=signatures`. */
export function withSignatures(document: string, signatures: string): string {
  return document.replace(BLOCK, () => `\`\`\`ts check=signatures\n${signatures}\n\`\`\``)
}
