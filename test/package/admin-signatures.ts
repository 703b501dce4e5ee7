const BLOCK = /^```ts check=signatures\n.*?^```$/ms

/** Returns the signatures of all functions of administration, from the report of their public types. */
export function adminSignatures(report: string): string {
  const interfaces = report.matchAll(/^interface (\w*)Admin\b[^{]*\{\n(.*?)^\}/gms)
  return [...interfaces]
    .map(
      ([, name, members]) =>
        `// ${name === '' ? 'Reports' : name}\n${members!.replace(/^ {4}/gm, '').trim()}`,
    )
    .join('\n\n')
}

/** Returns a document with these signatures in its block `check=signatures`. */
export function withSignatures(document: string, signatures: string): string {
  return document.replace(BLOCK, () => `\`\`\`ts check=signatures\n${signatures}\n\`\`\``)
}
