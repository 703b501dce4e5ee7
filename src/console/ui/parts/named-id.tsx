/** The id of an app or a model, after its name if it has one. */
export function NamedId({
  of: { id, name },
}: {
  of: { readonly id: string; readonly name?: string | undefined }
}) {
  return (
    <>
      {name !== undefined && <span>{name} </span>}
      <code>{id}</code>
    </>
  )
}
