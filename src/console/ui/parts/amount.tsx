/** An exact decimal as the server sent it: digits beyond the second place are dimmed, none is dropped or rounded. */
export function Amount({ value, unit }: { value: string; unit?: boolean }) {
  const point = value.indexOf('.')
  const end = point === -1 ? value.length : point + 3
  return (
    <span class="amount">
      {value.slice(0, end)}
      {end < value.length && <span class="amount-rest">{value.slice(end)}</span>}
      {unit && <span class="amount-unit"> credits</span>}
    </span>
  )
}
