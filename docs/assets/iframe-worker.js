// Browsers start no workers for pages opened from a folder. The search runs in a hidden frame there.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inner = frame.contentWindow;
      inner.document.open();
      inner.document.write("<!doctype html><body></body>");
      inner.document.close();
      inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = inner.document.createElement("script");
      script.src = new URL(url, location.href).href;
      this.ready = new Promise((resolve, reject) => {
        script.onload = () => resolve(inner);
        script.onerror = () => reject(new Error(`${script.src} cannot be loaded`));
      });
      inner.document.body.append(script);
    }

    postMessage(data) {
      this.ready.then((inner) => inner.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {}
  };
}
