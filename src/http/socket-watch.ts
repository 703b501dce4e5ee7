import type { Socket } from 'node:net'

/**
 * Notifies pipelined requests when their connection closes. Node emits neither `close` nor `drain` on a response that
 * waits for its turn. A socket has one listener, however many requests wait on it.
 */
export class SocketWatch {
  private readonly waiting = new WeakMap<Socket, Set<() => void>>()

  add(socket: Socket, closed: () => void): void {
    let waiting = this.waiting.get(socket)
    if (waiting === undefined) {
      const all = new Set<() => void>()
      waiting = all
      this.waiting.set(socket, all)
      socket.once('close', () => {
        for (const each of all) each()
      })
    }
    waiting.add(closed)
  }

  /** Whether no request waits behind that of `closed`. A request whose turn has come precedes all that still wait. */
  isLast(socket: Socket, closed: () => void): boolean {
    let last = closed
    for (const each of this.waiting.get(socket) ?? []) last = each
    return last === closed
  }

  remove(socket: Socket, closed: () => void): void {
    this.waiting.get(socket)?.delete(closed)
  }
}
