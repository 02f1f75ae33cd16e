/** Pictures of a page, compared by their pixels. */
import type { Locator, Page } from 'playwright-core'

/** Pixels that differ by less than this, summed over red, green and blue, look the same at a glance. */
const LEAST_DIFFERENCE = 40

export type Rectangle = { x: number; y: number; width: number; height: number }

/** Which part of a rectangle of the page looks different after something was done, from 0 to 1. */
export async function changedBy(page: Page, clip: Rectangle, act: () => Promise<unknown>): Promise<number> {
  const before = await page.screenshot({ clip, caret: 'hide' })
  await act()
  const after = await page.screenshot({ clip, caret: 'hide' })
  // The page's own policy lets no script read a picture.
  const blank = await page.context().newPage()
  const sources = [before, after].map(picture => `data:image/png;base64,${picture.toString('base64')}`)
  const part = await blank.evaluate(countDifferent, { sources, least: LEAST_DIFFERENCE })
  await blank.close()
  return part
}

async function countDifferent({ sources, least }: { sources: string[]; least: number }): Promise<number> {
  const [one, other] = await Promise.all(
    sources.map(async source => {
      const image = new Image()
      image.src = source
      await image.decode()
      const canvas = new OffscreenCanvas(image.width, image.height)
      const context = canvas.getContext('2d')
      context?.drawImage(image, 0, 0)
      return context?.getImageData(0, 0, image.width, image.height).data ?? new Uint8ClampedArray()
    }),
  )
  if (!one || !other || one.length === 0 || one.length !== other.length)
    throw new Error('These pictures differ in size')
  let different = 0
  for (let at = 0; at < one.length; at += 4) {
    const distance = [0, 1, 2].reduce((sum, channel) => {
      return sum + Math.abs((one[at + channel] ?? 0) - (other[at + channel] ?? 0))
    }, 0)
    if (distance >= least) different++
  }
  return different / (one.length / 4)
}

/** Where the text of an element stands, without the empty part of its line. */
export async function textBox(element: Locator): Promise<Rectangle> {
  const box = await element.evaluate(line => {
    const range = document.createRange()
    range.selectNodeContents(line)
    const { x, y, width, height } = range.getBoundingClientRect()
    return { x, y, width, height }
  })
  return { x: Math.ceil(box.x), y: Math.ceil(box.y), width: Math.floor(box.width), height: Math.floor(box.height) }
}
