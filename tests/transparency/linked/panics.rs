// Panics that are caught, threads, and one panic that ends a thread.
fn depth(n: u64) -> u64 {
    if n == 0 {
        panic!("deep");
    }
    depth(n - 1) + 1
}

fn main() {
    std::panic::set_hook(Box::new(|info| println!("hook: {}", info.payload().is::<&str>())));
    let caught = (0..20).filter(|&i| std::panic::catch_unwind(|| depth(i)).is_err()).count();
    println!("caught {caught}");
    let threads: Vec<_> = (0..4u64)
        .map(|i| std::thread::spawn(move || (0..1000u64).map(|x| (x as f64 * 0.5) as u64 % (i + 2)).sum::<u64>()))
        .collect();
    for thread in threads {
        println!("{}", thread.join().unwrap());
    }
    println!("{}", std::thread::spawn(|| depth(3)).join().is_err());
}
